// Retry or cancel all runs of a filter: a page that counts them and asks, and the action itself.

import type { Context } from 'hono';
import { listRunPage } from '../../answers/runs/lists.js';
import { TockError } from '../../model/errors.js';
import { includesRole } from '../../model/operator.js';
import { type FilterText, readFilterText } from '../../model/run/match/filter-text.js';
import { MAX_COUNTED, type RunMatch, readRunMatch } from '../../model/run/match/run-match.js';
import type { ManyResult } from '../../model/run/run-methods.js';
import { LIVE_STATUSES, TRANSITIONS } from '../../model/run/states.js';
import { flash } from '../flash.js';
import { type EnteredPace, enteredPace, NO_PACE, PaceFields, readPace } from '../layout/pace.js';
import { Page } from '../layout/page.js';
import { Empty, Hidden } from '../layout/parts.js';
import { numberText, relativeText } from '../layout/text.js';
import { readRunId } from '../query.js';
import type { App, View } from '../view.js';
import { queryOf, readFilter } from './filter.js';
import { countedWords, filterWords } from './filter-words.js';
import { RunTable } from './run-table.js';

type Verb = 'retry' | 'cancel';

const VERBS = {
  retry: {
    verb: 'Retry',
    done: 'waiting again',
    statuses: ['dead'],
    keep: ['Leave it as it is', 'Leave them as they are'],
  },
  cancel: {
    verb: 'Cancel',
    done: 'cancelled',
    statuses: TRANSITIONS.cancel.from,
    keep: ['Keep it', 'Keep them'],
  },
} as const satisfies Record<Verb, object>;

/** What is shown afterwards: a run that is retried keeps its place among older ones. */
const AFTER = { retry: LIVE_STATUSES, cancel: [] } as const satisfies Record<Verb, object>;

/** A browser waits no longer than this; what is left then, the next press does. */
const BUDGET_MS = 20_000;
const SHOWN = 5;

export function addManyActions(app: App): void {
  for (const verb of ['retry', 'cancel'] as const) {
    app.get(`/runs/${verb}-all`, async c => {
      const view = c.get('view');
      return c.html(
        await question(
          view,
          verb,
          textOf(verb, name => c.req.queries(name) ?? []),
        ),
      );
    });
    app.post(`/runs/${verb}-all`, async c => {
      const view = c.get('view');
      const body = await c.req.parseBody({ all: true });
      const text = textOf(verb, name => [body[name] ?? []].flat().map(String));
      const { match } = readFilter(text, view.zone, view.now);
      const entered = enteredPace(name => (typeof body[name] === 'string' ? body[name].trim() : ''));
      let rate: ReturnType<typeof readPace>;
      try {
        rate = verb === 'retry' ? readPace(entered) : null;
      } catch (error) {
        if (!(error instanceof TockError)) throw error;
        return c.html(await question(view, verb, text, { entered, message: error.message }), 400);
      }
      // Those that were enqueued after the question were not asked about.
      const upTo = typeof body['upTo'] === 'string' ? { upTo: readRunId(body['upTo'], 'upTo') } : {};
      const options = { signal: AbortSignal.timeout(BUDGET_MS), ...upTo };
      const result =
        verb === 'retry'
          ? await view.tock.runs.retryMany(match, { ...options, ...(rate === null ? {} : { rate }) })
          : await view.tock.runs.cancelMany(match, options);
      report(c, view, verb, result);
      return c.redirect(
        view.link('/runs', result.isStopped ? queryOf(text) : queryOf({ ...text, status: AFTER[verb] })),
        303,
      );
    });
  }
}

function textOf(verb: Verb, get: (name: string) => readonly string[]): FilterText {
  const text = readFilterText(get);
  return text.status.length > 0 ? text : { ...text, status: VERBS[verb].statuses };
}

/** Its times, so that they are the same when the button is pressed. */
const instantsOf = ({ from, to }: RunMatch): Partial<FilterText> => ({
  ...(from instanceof Date ? { from: from.toISOString() } : {}),
  ...(to instanceof Date ? { to: to.toISOString() } : {}),
});

/** @param refused what was entered, and why it was refused */
async function question(
  view: View,
  verb: Verb,
  text: FilterText,
  refused: { readonly entered: EnteredPace; readonly message: string } | null = null,
) {
  const { verb: word, keep } = VERBS[verb];
  const { match, isLastDayOnly } = readFilter(text, view.zone, view.now);
  const { matched, pausedQueues, upTo } =
    verb === 'retry'
      ? await view.tock.runs.retryMany(match, { dryRun: true })
      : await view.tock.runs.cancelMany(match, { dryRun: true });
  const { runs } = await listRunPage(view.reads, readRunMatch(match), { limit: SHOWN });
  const back = view.link('/runs', queryOf(text));
  if (matched === 0)
    return (
      <Page view={view} title={`Nothing to ${verb}`} current="runs">
        <Empty title={`There are no ${filterWords(text)} now`}>
          <p>
            They have changed their state meanwhile. <a href={back}>Back to the list</a>
          </p>
        </Empty>
      </Page>
    );
  const label = `${word} ${numberText(matched, MAX_COUNTED)} ${matched === 1 ? 'run' : 'runs'}`;
  return (
    <Page view={view} title={`${label}?`} current="runs">
      <p class="lead">
        This {verb === 'retry' ? 'puts' : 'cancels'} <b>{countedWords(matched, MAX_COUNTED, text)}</b>
        {verb === 'retry'
          ? ' back into the queue, each with a full set of attempts.'
          : '. Waiting ones end at once; handlers of running ones are asked to stop.'}
        {isLastDayOnly ? ' Only the last 24 hours were searched.' : ''}
      </p>
      {pausedQueues.map(({ queue, runs }) => (
        <p class="bad">
          {runs === 1 ? '1 of them is' : `${numberText(runs, MAX_COUNTED)} of them are`} in the queue{' '}
          <a href={view.link(`/queues/${encodeURIComponent(queue)}`)}>{queue}</a>, which is paused: they start
          when it is resumed.
        </p>
      ))}
      <form method="post" action={view.link(`/runs/${verb}-all`)} class="many">
        <Hidden fields={{ ...queryOf(text, instantsOf(match)), upTo }} />
        {refused === null ? null : (
          <p class="refused" role="alert">
            {refused.message}
          </p>
        )}
        {verb === 'retry' && matched > 1 ? (
          <PaceFields
            entered={refused?.entered ?? NO_PACE}
            hint="Without a number all are due now. With one, each is due a little later than the one before; other runs of the queue are not slowed down."
          />
        ) : null}
        <div class="actions">
          {includesRole(view.user.role, 'operate') ? <button class="main">{label}</button> : null}
          <a class="button" href={back}>
            {keep[matched === 1 ? 0 : 1]}
          </a>
        </div>
      </form>
      <h2>
        {matched > runs.length ? 'The newest of them' : 'These'} <small>the oldest are done first</small>
      </h2>
      <RunTable view={view} runs={runs} />
    </Page>
  );
}

function report(c: Context, view: View, verb: Verb, result: ManyResult): void {
  const { done, passed, failed, failedCount, isStopped, lastDueAt } = result;
  const words = Object.entries(done).map(([status, count]) =>
    status === 'running'
      ? `${numberText(count)} asked to stop`
      : `${numberText(count)} ${status === 'queued' ? 'waiting again' : status}`,
  );
  if (words.length === 0) words.push(`none ${VERBS[verb].done}`);
  if (passed > 0) words.push(`${numberText(passed)} had changed meanwhile, or had been asked before`);
  if (failedCount > 0)
    words.push(`${numberText(failedCount)} could not be changed: ${failed[0]?.message ?? ''}`);
  if (lastDueAt) words.push(`the last is due ${relativeText(lastDueAt, view.now)}`);
  if (isStopped)
    words.push(
      lastDueAt
        ? 'more are left: press again once these have started'
        : 'more are left: press again to go on',
    );
  const text = words.join('; ');
  flash(c, `${text.charAt(0).toUpperCase()}${text.slice(1)}.`, failedCount > 0 || isStopped ? 'bad' : 'ok');
}
