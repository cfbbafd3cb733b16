// Freeze and thaw: nothing starts on any host, until a time.
import type { Context } from 'hono';
import { formatSpan } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import type { Freeze } from '../../model/freeze/freeze.js';
import { includesRole } from '../../model/operator.js';
import { flash } from '../flash.js';
import { Page } from '../layout/page.js';
import { Sheet, Time } from '../layout/parts.js';
import { readUntil, UntilInput } from '../layout/pause-fields.js';
import { plainLine } from '../layout/plain-text.js';
import { numberText } from '../layout/text.js';
import type { App, View } from '../view.js';

type Handler = Context<{ Variables: { view: View } }>;

interface Entered {
  readonly until: string;
  readonly note: string;
  readonly ramp: string;
}

interface Refused {
  readonly entered: Entered;
  readonly message: string;
}

const RAMPS = ['1m', '5m', '15m'] as const;

export function addFreezePage(app: App): void {
  app.get('/freeze', async c => await show(c, null));
  app.post('/freeze', async c => {
    const view = c.get('view');
    const body = await c.req.parseBody();
    const text = (name: string) => (typeof body[name] === 'string' ? body[name].trim() : '');
    const entered = { until: text('until'), note: text('note'), ramp: text('ramp') };
    try {
      const { note, ramp } = entered;
      const until = readUntil(entered.until, view);
      const { before } = await view.tock.freeze({ until, note, ...(ramp === '' ? {} : { ramp }) });
      flash(c, before === null ? 'Everything is frozen.' : 'The freeze was changed.');
    } catch (error) {
      if (!(error instanceof TockError) || !error.code.startsWith('TOCK_BAD_')) throw error;
      return await show(c, { entered, message: error.message });
    }
    return c.redirect(view.link('/freeze'), 303);
  });
  app.post('/thaw', async c => {
    const view = c.get('view');
    const body = await c.req.parseBody();
    const ramp = typeof body['ramp'] === 'string' ? body['ramp'].trim() : '';
    try {
      const { ended, rampMs, spread } = await view.tock.thaw({ ramp: ramp === '' ? 0 : ramp });
      const what =
        rampMs === 0
          ? 'What waits starts now.'
          : `${spread === null ? 'What waits starts' : `${numberText(spread)} waiting runs start`} within ${formatSpan(rampMs)}.`;
      flash(c, ended === null ? 'Nothing was frozen.' : `Nothing is frozen any more. ${what}`);
    } catch (error) {
      if (!(error instanceof TockError) || !error.code.startsWith('TOCK_BAD_')) throw error;
      flash(c, error.message, 'bad');
    }
    return c.redirect(view.link('/freeze'), 303);
  });
}

async function show(c: Handler, refused: Refused | null) {
  const view = c.get('view');
  const frozen = await view.tock.frozen();
  const mayAct = includesRole(view.user.role, 'admin');
  return c.html(
    <Page
      view={view}
      title="Freeze"
      current="queues"
      lead="While everything is frozen, no occurrence becomes a run and no run starts, on any host. What runs goes on, alerts are delivered, and tock run --wait executes by hand. Start deadlines do not count that time; missed occurrences then follow their catch-up. Pauses are not touched."
    >
      {frozen === null ? <p>Nothing is frozen.</p> : <Held view={view} frozen={frozen} mayAct={mayAct} />}
      {mayAct ? (
        <FreezeForm view={view} frozen={frozen} refused={refused} />
      ) : (
        <p class="muted">To freeze and to thaw needs the role admin.</p>
      )}
    </Page>,
    refused === null ? 200 : 400,
  );
}

function Held({
  view,
  frozen,
  mayAct,
}: {
  readonly view: View;
  readonly frozen: Freeze;
  readonly mayAct: boolean;
}) {
  return (
    <>
      <p>
        Frozen since <Time view={view} at={frozen.beganAt} /> by {plainLine(frozen.by, 100)}.
        {frozen.rampMs === 0 ? null : ` What waits then starts over ${formatSpan(frozen.rampMs)}.`}
      </p>
      {mayAct ? (
        <Sheet>
          <form method="post" action={view.link('/thaw')} class="fields">
            <Ramp value={frozen.rampMs === 0 ? '' : formatSpan(frozen.rampMs)} />
            <button class="main">Thaw now</button>
          </form>
        </Sheet>
      ) : null}
    </>
  );
}

function Ramp({ value }: { readonly value: string }) {
  return (
    <label>
      <span>What waits starts over</span>
      <input name="ramp" list="ramps" value={value} placeholder="5m; empty: at once" autocomplete="off" />
      <datalist id="ramps">
        {RAMPS.map(span => (
          <option value={span} />
        ))}
      </datalist>
    </label>
  );
}

function FreezeForm({
  view,
  frozen,
  refused,
}: {
  readonly view: View;
  readonly frozen: Freeze | null;
  readonly refused: Refused | null;
}) {
  const { until = '', note = frozen?.note ?? '', ramp = '' } = refused?.entered ?? {};
  return (
    <>
      <h2>{frozen === null ? 'Freeze all hosts' : 'Change its end'}</h2>
      <Sheet>
        {refused === null ? null : (
          <p class="refused" role="alert">
            {refused.message}
          </p>
        )}
        <form method="post" action={view.link('/freeze')} class="fields">
          <label>
            <span>Until</span>
            <UntilInput value={until} required />
          </label>
          <label class="grow">
            <span>Why</span>
            <input
              name="note"
              required
              maxlength={500}
              value={note}
              placeholder="shown wherever something waits for it"
              autocomplete="off"
            />
          </label>
          {frozen === null ? <Ramp value={ramp} /> : null}
          <button class={frozen === null ? 'main' : ''}>{frozen === null ? 'Freeze' : 'Change'}</button>
        </form>
      </Sheet>
    </>
  );
}
