// Retry or cancel all runs of a filter: a page that counts them and asks, and the action itself.
import type { Context } from 'hono';
import { MAX_COUNTED, readRunMatch } from '../../model/run/run-match.js';
import type { ManyResult } from '../../model/run/run-methods.js';
import { TRANSITIONS } from '../../model/run/states.js';
import { listRunPage } from '../../store/reads/runs/run-list.js';
import { flash } from '../flash.js';
import { Page } from '../layout/page.js';
import { ActionForm, Empty } from '../layout/parts.js';
import { numberText } from '../layout/text.js';
import type { App, View } from '../view.js';
import { type FilterText, queryOf, readFilter, readFilterText } from './filter.js';
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
      const options = { signal: AbortSignal.timeout(BUDGET_MS) };
      const result =
        verb === 'retry'
          ? await view.tock.runs.retryMany(match, options)
          : await view.tock.runs.cancelMany(match, options);
      report(c, verb, result);
      return c.redirect(
        view.link('/runs', result.isStopped ? queryOf(text) : queryOf({ ...text, status: [] })),
        303,
      );
    });
  }
}

function textOf(verb: Verb, get: (name: string) => readonly string[]): FilterText {
  const text = readFilterText(get);
  return text.status.length > 0 ? text : { ...text, status: VERBS[verb].statuses };
}

async function question(view: View, verb: Verb, text: FilterText) {
  const { verb: word, keep } = VERBS[verb];
  const { match, isLastDayOnly } = readFilter(text, view.zone, view.now);
  const { matched } =
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
          ? ' back into the queue, due now, each with a full set of attempts.'
          : '. Waiting ones end at once; handlers of running ones are asked to stop.'}
        {isLastDayOnly ? ' Only the last 24 hours were searched.' : ''}
      </p>
      <div class="actions">
        <ActionForm
          view={view}
          action={`/runs/${verb}-all`}
          label={label}
          fields={queryOf(text)}
          main
          needs="operate"
        />
        <a class="button" href={back}>
          {keep[matched === 1 ? 0 : 1]}
        </a>
      </div>
      <h2>
        {matched > runs.length ? 'The newest of them' : 'These'} <small>the oldest are done first</small>
      </h2>
      <RunTable view={view} runs={runs} />
    </Page>
  );
}

function report(c: Context, verb: Verb, { done, passed, failed, failedCount, isStopped }: ManyResult): void {
  const words = Object.entries(done).map(([status, count]) =>
    status === 'running'
      ? `${numberText(count)} asked to stop`
      : `${numberText(count)} ${status === 'queued' ? 'waiting again' : status}`,
  );
  if (words.length === 0) words.push(`none ${VERBS[verb].done}`);
  if (passed > 0) words.push(`${numberText(passed)} had changed meanwhile, or had been asked before`);
  if (failedCount > 0)
    words.push(`${numberText(failedCount)} could not be changed: ${failed[0]?.message ?? ''}`);
  if (isStopped) words.push('more are left: press again to go on');
  const text = words.join('; ');
  flash(c, `${text.charAt(0).toUpperCase()}${text.slice(1)}.`, failedCount > 0 || isStopped ? 'bad' : 'ok');
}
