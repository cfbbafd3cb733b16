// Actions on many schedules at once: first a page that shows which, then the action.

import type { Context } from 'hono';
import {
  DEFINITION_STATES,
  readDefinitionNames,
  readNamed,
  type ScheduleMatch,
} from '../../../answers/schedules/lists.js';
import { TockError } from '../../../model/errors.js';
import { flash } from '../../flash.js';
import { readPause } from '../../layout/pause-fields.js';
import { numberText } from '../../layout/text.js';
import { runNow } from '../../schedules/run-now.js';
import type { App, View } from '../../view.js';
import { BulkQuestion, NAMED, schedules } from './bulk-question.js';
import { backOr, type Form, textOf } from './form.js';
import { readPauses, WhichPause } from './paused-together.js';

type Handler = Context<{ Variables: { view: View } }>;

/** More at once would keep a request waiting for too long. */
const MAX_RUNS = 1000;
/** A browser waits no longer than this; what is left then, the next press does. */
const BUDGET_MS = 20_000;

interface Asked {
  readonly view: View;
  readonly form: Form;
  readonly match: ScheduleMatch;
  readonly back: string;
  readonly isConfirmed: boolean;
}

export function addBulkActions(app: App): void {
  app.post('/schedules', async c => {
    const view = c.get('view');
    const form = (await c.req.parseBody({ all: true })) as Form;
    const act = ACTS[textOf(form, 'act') ?? ''];
    if (act === undefined) throw new TockError('TOCK_BAD_OPTION', 'choose what to do: pause, resume or run');
    const back = backOr(form, view.link('/schedules'));
    const match = matchOf(form);
    if (match.names?.length === 0) {
      flash(c, 'No schedule was selected.', 'bad');
      return c.redirect(back, 303);
    }
    return await act(c, { view, form, match, back, isConfirmed: textOf(form, 'confirmed') === 'yes' });
  });
}

/** Those selected, all that one act has paused, or all of a filter. */
function matchOf(form: Form): ScheduleMatch {
  const pause = textOf(form, 'pause');
  if (pause !== null) return { pause };
  if (textOf(form, 'which') !== 'all')
    return { names: [form['schedule'] ?? []].flat().filter(name => typeof name === 'string') };
  const state = DEFINITION_STATES.find(each => each === textOf(form, 'state')) ?? null;
  return { name: textOf(form, 'name'), job: textOf(form, 'job'), state };
}

/** As hidden fields, so that what is done is what was shown. */
const fieldsOf = ({ names, name, job, state }: ScheduleMatch) =>
  names === undefined ? { which: 'all', name, job, state } : { schedule: names };

const ACTS: Readonly<Record<string, (c: Handler, asked: Asked) => Promise<Response>>> = {
  pause: async (c, { view, form, match, back, isConfirmed }) => {
    if (!isConfirmed) {
      const { paused, pausedAlready } = await view.tock.schedules.pauseMany(match, { dryRun: true });
      return c.html(
        <BulkQuestion
          view={view}
          back={back}
          act="pause"
          fields={fieldsOf(match)}
          verb={`Pause ${schedules(paused)}`}
          keep="Do not pause them"
          effect={`They make no runs until they are resumed; occurrences due meanwhile are not caught up. Runs that wait or execute go on.${stay(pausedAlready)}`}
          count={paused}
          named={await readNamed(view.reads, 'to-pause', match, NAMED)}
          note={textOf(form, 'note')}
          until={textOf(form, 'until')}
        />,
      );
    }
    const { paused, pausedAlready, isStopped } = await view.tock.schedules.pauseMany(match, {
      ...readPause(form, view),
      signal: AbortSignal.timeout(BUDGET_MS),
    });
    const done = `${schedules(paused)} paused together.${stay(pausedAlready)}`;
    return answer(c, back, paused === 0 ? `No schedule was paused.${stay(pausedAlready)}` : done, isStopped);
  },
  resume: async (c, { view, match, back, isConfirmed }) => {
    if (match.pause === undefined && match.names === undefined)
      return c.html(<WhichPause view={view} {...(await readPauses(view))} />);
    if (!isConfirmed) {
      const { resumed } = await view.tock.schedules.resumeMany(match, { dryRun: true });
      return c.html(
        <BulkQuestion
          view={view}
          back={back}
          act="resume"
          fields={fieldsOf(match)}
          verb={`Resume ${schedules(resumed)}`}
          keep={resumed === 1 ? 'Keep it paused' : 'Keep them paused'}
          effect="They make runs again from now on; occurrences due in the pause are not caught up."
          count={resumed}
          named={await readNamed(view.reads, 'to-resume', match, NAMED)}
        />,
      );
    }
    const { resumed, skipped, isStopped } = await view.tock.schedules.resumeMany(match, {
      signal: AbortSignal.timeout(BUDGET_MS),
    });
    const left =
      skipped === 0
        ? ''
        : ` ${numberText(skipped)} ${skipped === 1 ? 'occurrence' : 'occurrences'} of the pauses did not run.`;
    return answer(c, back, `${schedules(resumed)} resumed.${left}`, isStopped);
  },
  run: async (c, { view, match, back, isConfirmed }) => {
    const found = match.names ?? (await readDefinitionNames(view.reads, match, MAX_RUNS + 1));
    const held = new Set(
      await readDefinitionNames(view.reads, { names: found, state: 'paused' }, found.length),
    );
    const names = found.filter(name => !held.has(name)).slice(0, MAX_RUNS);
    if (!isConfirmed)
      return c.html(
        <BulkQuestion
          view={view}
          back={back}
          act="run"
          fields={{ schedule: names }}
          verb={`Run ${schedules(names.length)} now`}
          keep="Do not run them"
          effect={`Each gets one run, due now, apart from its schedule.${leftOut(held.size)}${found.length > MAX_RUNS ? ' There are more: repeat it for the others.' : ''}`}
          count={names.length}
          named={names.slice(0, NAMED).map(name => ({ name, pausedAt: null, note: null }))}
        />,
      );
    const failures: string[] = [];
    for (const name of names) {
      try {
        await runNow(view, name);
      } catch (error) {
        if (!(error instanceof TockError)) throw error;
        failures.push(error.message);
      }
    }
    const [first] = failures;
    const failed = first === undefined ? '' : ` ${failures.length} could not be, the first: ${first}.`;
    const done = `${schedules(names.length - failures.length)} started by hand.${leftOut(held.size)}${failed}`;
    flash(c, done, first === undefined ? 'ok' : 'bad');
    return c.redirect(back, 303);
  },
};

function answer(c: Handler, back: string, done: string, isStopped: boolean): Response {
  flash(c, isStopped ? `${done} There are more: repeat it for the others.` : done, isStopped ? 'bad' : 'ok');
  return c.redirect(back, 303);
}

function stay(count: number): string {
  if (count === 0) return '';
  return count === 1
    ? ' 1 was paused already and stays as it is.'
    : ` ${numberText(count)} were paused already and stay as they are.`;
}

function leftOut(paused: number): string {
  if (paused === 0) return '';
  return paused === 1
    ? ' 1 is paused and was left out.'
    : ` ${numberText(paused)} are paused and were left out.`;
}
