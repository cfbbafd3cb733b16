// Actions on many schedules at once: first a page that shows how many, then the action, one by one.
import { TockError } from '../../../model/errors.js';
import { DEFINITION_STATES, readDefinitionNames } from '../../../store/reads/definition-pages.js';
import { flash } from '../../flash.js';
import { Page } from '../../layout/page.js';
import { Sheet } from '../../layout/parts.js';
import { numberText } from '../../layout/text.js';
import { runNow } from '../../schedules/run-now.js';
import type { App, View } from '../../view.js';
import { backOr, type Form, textOf } from './form.js';

const ACTS = ['pause', 'resume', 'run'] as const;
type Act = (typeof ACTS)[number];

/** More at once would keep a request waiting for too long. */
const MAX_AT_ONCE = 1000;
const MAX_NAMED = 20;

const WORDS: Readonly<
  Record<Act, { readonly verb: string; readonly done: string; readonly effect: string }>
> = {
  pause: {
    verb: 'Pause',
    done: 'paused',
    effect:
      'They make no runs until they are resumed; occurrences due meanwhile are not caught up. Runs that wait or execute go on.',
  },
  resume: {
    verb: 'Resume',
    done: 'resumed',
    effect:
      'Those that are paused make runs again from now on; occurrences due in the pause are not caught up.',
  },
  run: {
    verb: 'Run now',
    done: 'started by hand',
    effect: 'Each gets one run, due now, apart from its schedule.',
  },
};

export function addBulkActions(app: App): void {
  app.post('/schedules', async c => {
    const view = c.get('view');
    const form = (await c.req.parseBody({ all: true })) as Form;
    const act = ACTS.find(each => each === textOf(form, 'act'));
    if (act === undefined) throw new TockError('TOCK_BAD_OPTION', 'choose what to do: pause, resume or run');
    const back = backOr(form, view.link('/schedules'));
    const names = await namesOf(view, form);
    if (names.length === 0) {
      flash(c, 'No schedule was selected.', 'bad');
      return c.redirect(back, 303);
    }
    if (textOf(form, 'confirmed') !== 'yes')
      return c.html(<Confirm view={view} act={act} names={names} back={back} note={textOf(form, 'note')} />);
    const { done, failures } = await doAll(view, act, names.slice(0, MAX_AT_ONCE), textOf(form, 'note'));
    const [first] = failures;
    const what = `${numberText(done)} ${done === 1 ? 'schedule' : 'schedules'} ${WORDS[act].done}`;
    const failed = first === undefined ? '' : `; ${failures.length} not, the first: ${first}`;
    flash(c, `${what}${failed}.`, first === undefined ? 'ok' : 'bad');
    return c.redirect(back, 303);
  });
}

/** Those selected, or all of a filter; one more than may be done at once shows that there are more. */
async function namesOf(view: View, form: Form): Promise<string[]> {
  if (textOf(form, 'which') !== 'all')
    return [form['schedule'] ?? []].flat().filter(name => typeof name === 'string');
  const state = DEFINITION_STATES.find(each => each === textOf(form, 'state')) ?? null;
  const filter = { name: textOf(form, 'name'), job: textOf(form, 'job'), state };
  return await readDefinitionNames(view.reads, filter, MAX_AT_ONCE + 1);
}

async function doAll(
  view: View,
  act: Act,
  names: readonly string[],
  note: string | null,
): Promise<{ done: number; failures: string[] }> {
  let done = 0;
  const failures: string[] = [];
  for (const name of names) {
    try {
      if (act === 'pause') await view.tock.schedules.pause(name, note === null ? {} : { note });
      else if (act === 'resume') await view.tock.schedules.resume(name);
      else await runNow(view, name);
      done++;
    } catch (error) {
      if (!(error instanceof TockError)) throw error;
      failures.push(error.message);
    }
  }
  return { done, failures };
}

function Confirm({
  view,
  act,
  names,
  back,
  note,
}: {
  readonly view: View;
  readonly act: Act;
  readonly names: readonly string[];
  readonly back: string;
  readonly note: string | null;
}) {
  const { verb, effect } = WORDS[act];
  const chosen = names.slice(0, MAX_AT_ONCE);
  const count = `${numberText(chosen.length)} ${chosen.length === 1 ? 'schedule' : 'schedules'}`;
  const more = names.length > MAX_AT_ONCE ? ' There are more: repeat it for the others.' : '';
  return (
    <Page view={view} title={`${verb}: ${count}`} current="schedules" lead={`${effect}${more}`}>
      <Sheet>
        <ul class="names">
          {chosen.slice(0, MAX_NAMED).map(name => (
            <li>{name}</li>
          ))}
          {chosen.length > MAX_NAMED ? (
            <li class="muted">and {numberText(chosen.length - MAX_NAMED)} more</li>
          ) : null}
        </ul>
        <form method="post" action={view.link('/schedules')} class="confirm">
          {chosen.map(name => (
            <input type="hidden" name="schedule" value={name} />
          ))}
          <input type="hidden" name="confirmed" value="yes" />
          <input type="hidden" name="back" value={back} />
          {act === 'pause' ? (
            <label class="entry">
              Why{' '}
              <input
                type="text"
                name="note"
                value={note ?? ''}
                maxlength={500}
                placeholder="shown wherever the pause is"
              />
            </label>
          ) : null}
          <div class="buttons">
            <button class="main" name="act" value={act}>
              {verb}: {count}
            </button>
            <a class="button" href={back}>
              Back
            </a>
          </div>
        </form>
      </Sheet>
    </Page>
  );
}
