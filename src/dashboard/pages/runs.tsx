// Runs: those that match a filter, newest first or by their ends, page by page; and what can be done to all.
import { isStoppedStatement } from '../../answers/reads.js';
import {
  countRuns,
  isCountSlow,
  listRunPage,
  type PageBounds,
  type RunPage,
  readJobNames,
} from '../../answers/runs/lists.js';
import {
  type FilterFault,
  type FilterText,
  isEmpty,
  readFilterText,
} from '../../model/run/match/filter-text.js';
import {
  isSlow,
  MAX_COUNTED,
  type ReadRunMatch,
  readRunMatch,
  requireSight,
} from '../../model/run/match/run-match.js';
import { LIVE_STATUSES, TRANSITIONS } from '../../model/run/states.js';
import { Page } from '../layout/page.js';
import { Empty } from '../layout/parts.js';
import { readRunId } from '../query.js';
import { LIMIT, orderFault, readBounds } from '../runs/bounds.js';
import { addRunFiles, Files } from '../runs/files.js';
import { listQuery, queryOf, type ReadFilter, tryFilter } from '../runs/filter.js';
import { FilterForm, FindForm } from '../runs/filter-form.js';
import { countedWords, filterWords } from '../runs/filter-words.js';
import { find } from '../runs/find.js';
import { addManyActions } from '../runs/many.js';
import { Meant } from '../runs/meant.js';
import { RunTable } from '../runs/run-table.js';
import type { App, View } from '../view.js';

export function addRunsPage(app: App): void {
  app.get('/runs', async c => {
    const view = c.get('view');
    const id = c.req.query('id');
    if (id !== undefined && id !== '') return c.redirect(view.link(`/runs/${readRunId(id)}`), 303);
    const text = readFilterText(name => c.req.queries(name) ?? []);
    const filter = tryFilter(text, view.zone, view.now);
    const bounds = readBounds(name => c.req.query(name));
    const jobs = await readJobNames(view.reads);
    const wrong = ({ faults }: Faulty) =>
      c.html(<Wrong view={view} text={text} jobs={jobs} faults={faults} order={bounds.order} />, 400);
    if ('faults' in filter) return wrong(filter);
    const found = await search(view, filter, bounds);
    if (found !== null && 'faults' in found) return wrong(found);
    const isFirstPage = bounds.before === undefined && bounds.after === undefined;
    const isLive = isFirstPage && found !== null && !isSlow(readRunMatch(filter.match));
    return c.html(
      <Page view={view} title="Runs" current="runs" {...(isLive ? { live: 5 } : {})}>
        <FindForm view={view} />
        <FilterForm view={view} text={filter.text} jobs={jobs} order={bounds.order} />
        {found === null ? (
          <Empty title="This search was stopped after 5 seconds">
            <p>
              So many runs would have to be read that it would slow the scheduler down. Name a job, a state or
              a shorter time.
            </p>
          </Empty>
        ) : (
          <Found view={view} filter={filter} found={found} bounds={bounds} jobs={jobs} />
        )}
      </Page>,
      found === null ? 503 : 200,
    );
  });
  app.get('/runs/find', async c => {
    const view = c.get('view');
    return c.redirect(view.link(...(await find(view.reads, (c.req.query('q') ?? '').trim()))), 303);
  });
  addManyActions(app);
  addRunFiles(app);
}

interface Found extends RunPage {
  /** Of all pages, up to a cap; null: not counted, because that would take too long. */
  readonly count: number | null;
}

interface Faulty {
  readonly faults: readonly FilterFault[];
}

/** What is wrong, with the form as it was filled in. */
function Wrong({
  view,
  text,
  jobs,
  faults,
  order,
}: Faulty & {
  readonly order: PageBounds['order'] | undefined;
  readonly view: View;
  readonly text: FilterText;
  readonly jobs: readonly string[];
}) {
  return (
    <Page view={view} title="Runs" current="runs">
      <FindForm view={view} />
      <FilterForm view={view} text={text} jobs={jobs} faults={faults} order={order} />
    </Page>
  );
}

/** Null if the server stopped it. */
async function search(view: View, { match }: ReadFilter, bounds: PageBounds): Promise<Found | Faulty | null> {
  const read = readRunMatch(match);
  requireSight(view.user, match);
  const fault = orderFault(bounds, read);
  if (fault !== null) return { faults: [fault] };
  try {
    const page = await listRunPage(view.reads, read, bounds);
    return { ...page, count: await countOf(view, read, page, bounds) };
  } catch (error) {
    if (isStoppedStatement(error)) return null;
    throw error;
  }
}

async function countOf(
  { reads }: View,
  match: ReadRunMatch,
  { runs, hasOlder, hasNewer }: RunPage,
  { after }: PageBounds,
): Promise<number | null> {
  if (!hasOlder && !hasNewer && after === undefined) return runs.length;
  if (isSlow(match) || match.errorGroup !== undefined) return null;
  return (await isCountSlow(reads, match)) ? null : await countRuns(reads, match, MAX_COUNTED);
}

function Found({
  view,
  filter,
  found,
  bounds,
  jobs,
}: {
  readonly view: View;
  readonly filter: ReadFilter;
  readonly found: Found;
  readonly bounds: PageBounds;
  /** Names that may have been meant. */
  readonly jobs: readonly string[];
}) {
  const { text, isLastDayOnly } = filter;
  const { runs, count } = found;
  const { order } = bounds;
  return (
    <>
      <div class="found">
        <h2 hidden={runs.length === 0 && isEmpty(text)}>
          {sentence(count === null ? filterWords(text) : countedWords(count, MAX_COUNTED, text))}
          {isEmpty(text) ? null : (
            <small>
              <a class="link" href={view.link('/runs', { order })}>
                clear
              </a>
            </small>
          )}
        </h2>
        <AllOfThem view={view} text={text} hasRuns={runs.length > 0} />
        <Files view={view} text={text} order={order} hasRuns={runs.length > 0} />
      </div>
      {isLastDayOnly ? <LastDayOnly view={view} text={text} order={order} /> : null}
      {runs.length === 0 ? (
        <Nothing view={view} text={text} jobs={jobs} order={order} />
      ) : (
        <RunTable view={view} runs={runs} />
      )}
      <Pager view={view} text={text} found={found} bounds={bounds} />
    </>
  );
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Buttons for all that match, where the states allow it. They lead to a page that counts and asks. */
function AllOfThem({
  view,
  text,
  hasRuns,
}: {
  readonly view: View;
  readonly text: FilterText;
  readonly hasRuns: boolean;
}) {
  const { status } = text;
  if (!hasRuns || view.user.role === 'view' || status.length === 0) return null;
  const isWithin = (states: readonly string[]) => status.every(each => states.includes(each));
  return (
    <div class="actions">
      {isWithin(TRANSITIONS.retry.from) ? (
        <a class="button" href={view.link('/runs/retry-all', queryOf(text))}>
          Retry all …
        </a>
      ) : null}
      {isWithin(LIVE_STATUSES) ? (
        <a class="button" href={view.link('/runs/cancel-all', queryOf(text))}>
          Cancel all …
        </a>
      ) : null}
    </div>
  );
}

interface Listed {
  readonly view: View;
  readonly text: FilterText;
  readonly order: PageBounds['order'];
}

function LastDayOnly({ view, text, order }: Listed) {
  const since = (from: string) => view.link('/runs', listQuery(text, order, { from }));
  return (
    <p class="muted">
      Only the last 24 hours were searched, because every run has to be read for this. Search{' '}
      <a href={since('7d')}>7 days</a>, <a href={since('30d')}>30 days</a> or <a href={since('all')}>all</a>.
    </p>
  );
}

function Nothing({ view, text, jobs, order }: Listed & { readonly jobs: readonly string[] }) {
  if (isEmpty(text))
    return (
      <Empty title="There are no runs yet">
        <p>A run appears here as soon as a schedule is due, or something is enqueued:</p>
        <pre>
          <code>tock run &lt;job&gt;</code>
        </pre>
      </Empty>
    );
  return (
    <Empty title="No run matches">
      <Meant view={view} text={text} jobs={jobs} order={order} />
      <p>
        Runs are kept as long as your retention says.{' '}
        {text.status.length === 0 ? null : (
          <a href={view.link('/runs', listQuery(text, order, { status: [] }))}>Look in all states.</a>
        )}
      </p>
    </Empty>
  );
}

function Pager({
  view,
  text,
  found: { runs, hasOlder, hasNewer },
  bounds: { limit, order },
}: {
  readonly view: View;
  readonly text: FilterText;
  readonly found: Found;
  readonly bounds: PageBounds;
}) {
  const [first, last] = [runs[0], runs.at(-1)];
  const at = (bound: Record<string, string>) =>
    view.link('/runs', { ...listQuery(text, order), ...bound, limit: limit === LIMIT ? null : limit });
  if (!hasOlder && !hasNewer) return null;
  return (
    <nav class="pager" aria-label="More runs">
      {hasNewer ? (
        <>
          <a class="button" href={at({})}>
            {order === 'ended' ? 'Those that ended last' : 'Newest'}
          </a>
          {first === undefined || order === 'ended' ? null : (
            <a class="button" rel="prev" href={at({ after: first.id })}>
              Newer
            </a>
          )}
        </>
      ) : null}
      {hasOlder && last !== undefined ? (
        <a class="button" rel="next" href={at({ before: last.id })}>
          Older
        </a>
      ) : null}
    </nav>
  );
}
