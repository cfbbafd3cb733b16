// One queue: its state, who holds its places, what was done to it; pause, resume and limits.
import type { Context } from 'hono';
import type { AuditRecord } from '../../model/audit.js';
import { TockError } from '../../model/errors.js';
import { parseRate, queueState, rateText } from '../../model/explain/queue-state.js';
import { checkName, quote } from '../../model/names.js';
import { includesRole } from '../../model/operator.js';
import { type QueueLoad, readBlockingKeys, readQueueLoad } from '../../store/reads/queue-load.js';
import type { QueueLimits } from '../../engine/operate/queues.js';
import { flash } from '../flash.js';
import { Page } from '../layout/page.js';
import { ActionForm, Empty, Facts, Hidden, Sheet, Time } from '../layout/parts.js';
import { numberText } from '../layout/text.js';
import type { App, View } from '../view.js';
import { AuditList, Holders } from './operate-parts.js';
import { BlockingKeys, counted, limitWords, QueuePill, Resume, StateNote, waitText } from './queues.js';

type Handler = Context<{ Variables: { view: View } }>;

/** Texts of the form of limits. */
type Entered = Readonly<Record<Limit, string>>;
const LIMITS = ['concurrency', 'rate', 'window', 'timezone'] as const;
type Limit = (typeof LIMITS)[number];

export function addQueuePage(app: App): void {
  app.get('/queues/:name', async c => await showQueue(c, null));
  app.post('/queues/:name/pause', async c => {
    const name = nameOf(c);
    const { note } = await c.req.parseBody();
    const reason = typeof note === 'string' ? note.trim() : '';
    await c.get('view').tock.queues.pause(name, reason === '' ? {} : { note: reason });
    return done(c, name, `${name} is paused: none of its runs starts until it is resumed.`);
  });
  app.post('/queues/:name/resume', async c => {
    const name = nameOf(c);
    await c.get('view').tock.queues.resume(name);
    return done(c, name, `${name} is not paused any more.`);
  });
  app.post('/queues/:name/remove', async c => {
    const name = nameOf(c);
    const isRemoved = await c.get('view').tock.queues.remove(name);
    return done(c, name, isRemoved ? `${name} has no limits and no pause any more.` : `${name} had no limits and no pause.`);
  });
  app.post('/queues/:name/limits', async c => {
    const name = nameOf(c);
    const body = await c.req.parseBody();
    const text = (field: string) => (typeof body[field] === 'string' ? body[field].trim() : '');
    const entered = Object.fromEntries(LIMITS.map(limit => [limit, text(limit)])) as Entered;
    try {
      const limits = readLimits(LIMITS.filter(limit => entered[limit] !== text(`was-${limit}`)), entered);
      if (Object.keys(limits).length === 0) return done(c, name, `The limits of ${name} are as they were.`);
      await c.get('view').tock.queues.set(name, limits);
    } catch (error) {
      if (!(error instanceof TockError) || !error.code.startsWith('TOCK_BAD_')) throw error;
      c.status(400);
      return await showQueue(c, { entered, message: error.message });
    }
    return done(c, name, `${name} has new limits. They apply from the next claim on.`);
  });
}

const nameOf = (c: Handler) => checkName(c.req.param('name'), 'queue', 'TOCK_BAD_OPTION');

function done(c: Handler, name: string, message: string) {
  flash(c, message);
  return c.redirect(c.get('view').link(`/queues/${encodeURIComponent(name)}`), 303);
}

/** Only what was changed in the form: what somebody else has changed meanwhile stays. */
function readLimits(changed: readonly Limit[], entered: Entered): QueueLimits {
  const read: { readonly [L in Limit]: (text: string) => QueueLimits } = {
    concurrency: text => ({ concurrency: text === '' ? null : readConcurrency(text) }),
    rate: text => ({ rate: text === '' ? null : parseRate(text) }),
    window: text => ({ window: text === '' ? null : text }),
    timezone: text => ({ timezone: text === '' ? 'UTC' : text }),
  };
  return Object.assign({}, ...changed.map(limit => read[limit](entered[limit]))) as QueueLimits;
}

function readConcurrency(text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new TockError('TOCK_BAD_OPTION', `concurrency ${quote(text)} is not a whole number; leave it empty for no limit`);
}

interface Refused {
  readonly entered: Entered;
  readonly message: string;
}

const RECENT = 8;

async function showQueue(c: Handler, refused: Refused | null) {
  const view = c.get('view');
  const name = nameOf(c);
  const [[queue = nothing(name)], keys, records] = await Promise.all([
    readQueueLoad(view.reads, { name }),
    readBlockingKeys(view.reads, { queue: name }),
    view.tock.audit.list({ action: 'queues', target: name, limit: RECENT }),
  ]);
  const verdict = queueState(queue, view.now);
  return c.html(
    <Page view={view} title={name} current="queues" aside={<QueuePill verdict={verdict} />} lead={<Lead view={view} queue={queue} records={records} />}>
      <QueueFigures view={view} queue={queue} />
      <div class="two">
        <div>
          {queue.concurrency === null ? null : <Places view={view} queue={queue} />}
          <h2>
            Blocked by other limits <small>runs that wait for a place under a limit of their job or definition</small>
          </h2>
          <BlockingKeys view={view} keys={keys} />
          <h2>What was done</h2>
          {records.length === 0 ? (
            <Empty title="Nobody has paused or limited it" />
          ) : (
            <Sheet>
              <AuditList view={view} records={records} />
              <p>
                <a href={view.link('/audit', { target: name, action: 'queues' })}>All of it</a>
              </p>
            </Sheet>
          )}
        </div>
        <div>
          <Pausing view={view} queue={queue} />
          <Limits view={view} queue={queue} refused={refused} />
        </div>
      </div>
    </Page>,
  );
}

function nothing(name: string): QueueLoad {
  return {
    name,
    concurrency: null,
    rate: null,
    window: null,
    timezone: 'UTC',
    pausedAt: null,
    pauseReason: null,
    waiting: 0,
    running: 0,
    later: 0,
    blocked: 0,
    isCapped: false,
    oldestAt: null,
    held: 0,
    holders: [],
    rateNextAt: null,
  };
}

function Lead({ view, queue, records }: { readonly view: View; readonly queue: QueueLoad; readonly records: readonly AuditRecord[] }) {
  const { state } = queueState(queue, view.now);
  const by = records.find(({ action }) => action === 'queues.pause')?.operator;
  switch (state) {
    case 'paused':
      return (
        <>
          Paused <Time view={view} at={queue.pausedAt} relative />
          {by === undefined ? null : ` by ${by}`}
          {queue.pauseReason === null ? '.' : `: ${queue.pauseReason}.`} None of its runs starts until it is resumed; running ones go on.
        </>
      );
    case 'shut':
      return <>Its concurrency is 0, so none of its runs starts.</>;
    case 'closed':
      return (
        <>
          Its window is {queue.window} {queue.timezone}; it <StateNote view={view} queue={queue} />. Running runs go on.
        </>
      );
    case 'full':
      return <>All its places are held: the next run starts when one of them ends.</>;
    case 'held-back':
      return (
        <>
          Its rate of {rateText(queue.rate)} is used up: <StateNote view={view} queue={queue} />.
        </>
      );
    case 'open':
      return <>Its runs start as soon as they are due and a worker is free.</>;
  }
}

function QueueFigures({ view, queue }: { readonly view: View; readonly queue: QueueLoad }) {
  const { name, waiting, running, later, blocked, oldestAt, concurrency, held } = queue;
  return (
    <div class="figures">
      <a href={view.link('/runs', { queue: name, status: 'queued,failed' })}>
        <span class="name">Waiting</span>
        <span class="value">{counted(queue, waiting)}</span>
        <small>{oldestAt === null ? 'none is due' : `oldest for ${waitText(oldestAt, view.now)}`}</small>
      </a>
      <a href={view.link('/runs', { queue: name, status: 'running' })}>
        <span class="name">Running</span>
        <span class="value">{counted(queue, running)}</span>
        <small>{concurrency === null ? 'no limit' : `${numberText(held)} of ${numberText(concurrency)} places`}</small>
      </a>
      <div>
        <span class="name">Later</span>
        <span class="value">{counted(queue, later)}</span>
        <small>due in the future</small>
      </div>
      <div>
        <span class="name">Blocked</span>
        <span class="value">{numberText(blocked)}</span>
        <small>by another limit</small>
      </div>
    </div>
  );
}

function Places({ view, queue }: { readonly view: View; readonly queue: QueueLoad }) {
  const { concurrency, held, holders } = queue;
  return (
    <>
      <h2>
        Places <small>{`${numberText(held)} of ${numberText(concurrency ?? 0)} held`}</small>
      </h2>
      <Sheet>
        {concurrency === null || concurrency === 0 ? null : (
          <progress max={concurrency} value={Math.min(held, concurrency)} aria-label={`${held} of ${concurrency} places held`} />
        )}
        {held === 0 ? <p class="muted">Nobody holds a place.</p> : <Holders view={view} holders={holders} held={held} />}
        {held > (concurrency ?? 0) ? (
          <p class="muted">More are held than there are: the limit was lowered. The runs go on, and none starts until enough have ended.</p>
        ) : null}
      </Sheet>
    </>
  );
}

function Pausing({ view, queue }: { readonly view: View; readonly queue: QueueLoad }) {
  const { name, pausedAt } = queue;
  if (!includesRole(view.user.role, 'operate')) return null;
  if (pausedAt !== null)
    return (
      <>
        <h2>Paused</h2>
        <Sheet>
          <p>Its due runs start as soon as it is resumed, within its limits.</p>
          <Resume view={view} queue={queue} main />
        </Sheet>
      </>
    );
  return (
    <>
      <h2>Pause</h2>
      <Sheet>
        <form method="post" action={view.link(`/queues/${encodeURIComponent(name)}/pause`)} class="fields">
          <label class="grow">
            <span>Why</span>
            <input name="note" maxlength={500} placeholder="shown to everybody who asks why nothing runs" />
          </label>
          <button>Pause {name}</button>
        </form>
      </Sheet>
    </>
  );
}

function enteredOf(queue: QueueLoad): Entered {
  const { concurrency, rate, window, timezone } = queue;
  return { concurrency: concurrency === null ? '' : String(concurrency), rate: rateText(rate), window: window ?? '', timezone };
}

const FIELDS: Readonly<Record<Limit, { readonly label: string; readonly hint: string; readonly placeholder: string }>> = {
  concurrency: { label: 'At once', hint: 'Most runs at once, over all hosts. 0 lets none start.', placeholder: 'no limit' },
  rate: { label: 'Rate', hint: 'Starts per period, spread evenly: 100/1m is one every 600 ms.', placeholder: 'no limit' },
  window: { label: 'Window', hint: 'Hours in which runs may start: 23:00-06:00.', placeholder: 'all day' },
  timezone: { label: 'Time zone', hint: 'Of the window: Europe/Berlin.', placeholder: 'UTC' },
};

function Limits({ view, queue, refused }: { readonly view: View; readonly queue: QueueLoad; readonly refused: Refused | null }) {
  const action = `/queues/${encodeURIComponent(queue.name)}`;
  const stored = enteredOf(queue);
  const entered = refused?.entered ?? stored;
  if (!includesRole(view.user.role, 'admin'))
    return (
      <>
        <h2>Limits</h2>
        <Sheet>
          {limitWords(queue) === '' ? (
            <p class="muted">It has none.</p>
          ) : (
            <Facts rows={LIMITS.map(limit => [FIELDS[limit].label, stored[limit] === '' ? null : stored[limit]] as const)} />
          )}
          <p class="faint">The role admin can set them.</p>
        </Sheet>
      </>
    );
  return (
    <>
      <h2 id="limits">Limits</h2>
      <Sheet>
        {refused === null ? null : (
          <p class="refused" role="alert">
            {refused.message}
          </p>
        )}
        <form method="post" action={view.link(`${action}/limits`)} class="fields column">
          <Hidden fields={Object.fromEntries(LIMITS.map(limit => [`was-${limit}`, stored[limit]]))} />
          {LIMITS.map(limit => (
            <label>
              <span>{FIELDS[limit].label}</span>
              <input
                name={limit}
                value={entered[limit]}
                placeholder={FIELDS[limit].placeholder}
                aria-describedby={`hint-${limit}`}
                inputmode={limit === 'concurrency' ? 'numeric' : undefined}
                autocomplete="off"
              />
              <small id={`hint-${limit}`}>{FIELDS[limit].hint}</small>
            </label>
          ))}
          <div class="actions">
            <button class="main">Set limits</button>
          </div>
        </form>
        {limitWords(queue) === '' && queue.pausedAt === null ? null : (
          <ActionForm
            view={view}
            action={`${action}/remove`}
            label="Remove all limits"
            confirm={`${queue.name} loses its limits${queue.pausedAt === null ? '' : ' and its pause'}: ${limitWords(queue) || 'it has a pause only'}. Its ${counted(queue, queue.waiting)} waiting runs may all start.`}
            needs="admin"
          />
        )}
      </Sheet>
    </>
  );
}
