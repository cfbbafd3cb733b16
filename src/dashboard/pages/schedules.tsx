// Schedules: every definition in words, when it runs next, and what became of its last occurrences.

import {
  DEFINITION_STATES,
  type DefinitionState,
  pageAfter,
  readDefinitionPage,
  readSharedPauses,
  type ScheduleMatch,
} from '../../answers/schedules/lists.js';
import { readRecent, scheduleOfListed } from '../../answers/schedules/read-schedule.js';
import { Page } from '../layout/page.js';
import { Empty, Sheet } from '../layout/parts.js';
import { ScheduleTable } from '../schedules/schedule-table.js';
import type { App, View } from '../view.js';
import { addBulkActions } from './schedule/bulk.js';
import { NewSchedule } from './schedule/edit.js';
import { PausedTogether } from './schedule/paused-together.js';

const LIMIT = 25;
const STATE_LABELS: Readonly<Record<DefinitionState, string>> = {
  scheduled: 'scheduled',
  late: 'late',
  paused: 'paused',
  broken: 'broken',
  manual: 'by hand',
  removed: 'removed',
};

/** The filter and place of a page, as its address has them. */
export interface ListQuery extends ScheduleMatch {
  readonly sort: 'name' | 'next';
  readonly after: string | null;
}

function readListQuery(query: Readonly<Record<string, string | undefined>>): ListQuery {
  const text = (value: string | undefined) => (value?.trim() ? value.trim().slice(0, 200) : null);
  return {
    name: text(query['name']),
    job: text(query['job']),
    state: DEFINITION_STATES.find(state => state === query['state']) ?? null,
    sort: query['sort'] === 'next' ? 'next' : 'name',
    after: text(query['after']),
  };
}

export function addSchedulesPage(app: App): void {
  app.get('/schedules', async c => {
    const view = c.get('view');
    const query = readListQuery(c.req.query());
    const [found, pauses] = await Promise.all([
      readDefinitionPage(view.reads, { ...query, limit: LIMIT + 1 }),
      readSharedPauses(view.reads),
    ]);
    const shown = found.slice(0, LIMIT);
    const opened = shown.map(definition => ({ definition, schedule: scheduleOfListed(definition) }));
    const recent = await readRecent(view.reads, opened, 30);
    const rows = opened.map(({ definition, schedule }) => ({
      definition,
      schedule,
      recent: recent.get(definition.id) ?? { occurrences: [], exceptions: [], p50: null, p95: null },
    }));
    const last = found.length > LIMIT ? shown.at(-1) : undefined;
    return c.html(
      <Page
        view={view}
        title="Schedules"
        current="schedules"
        live={30}
        lead={LEAD}
        aside={<NewSchedule view={view} />}
      >
        <PausedTogether view={view} pauses={pauses} />
        <Filter view={view} query={query} />
        {rows.length === 0 ? (
          <None view={view} query={query} />
        ) : (
          <ScheduleTable view={view} query={query} rows={rows} />
        )}
        <Pages view={view} query={query} next={last === undefined ? null : pageAfter(last, query.sort)} />
      </Page>,
    );
  });
  addBulkActions(app);
}

const LEAD =
  'What runs by itself, and what became of each of its last occurrences: those that ran, and those that did not, with the reason.';

function Filter({ view, query }: { readonly view: View; readonly query: ListQuery }) {
  return (
    <form method="get" action={view.link('/schedules')} class="fields filters" role="search">
      <label>
        <span>Name</span>
        <input type="search" name="name" value={query.name ?? ''} placeholder="a part of it" data-search />
      </label>
      <label>
        <span>Job</span>
        <input name="job" value={query.job ?? ''} placeholder="any" autocomplete="off" />
      </label>
      <label>
        <span>State</span>
        <select name="state">
          <option value="">any</option>
          {DEFINITION_STATES.map(state => (
            <option value={state} selected={state === query.state}>
              {STATE_LABELS[state]}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>Order</span>
        <select name="sort">
          <option value="name">by name</option>
          <option value="next" selected={query.sort === 'next'}>
            next first
          </option>
        </select>
      </label>
      <div class="actions">
        <button>Filter</button>
        {query.name || query.job || query.state ? <a href={view.link('/schedules')}>Clear</a> : null}
      </div>
    </form>
  );
}

function None({ view, query }: { readonly view: View; readonly query: ListQuery }) {
  if (query.name || query.job || query.state || query.after)
    return (
      <Sheet>
        <Empty title="No schedule fits this filter">
          <p>
            <a class="link" href={view.link('/schedules')}>
              Show all schedules
            </a>
          </p>
        </Empty>
      </Sheet>
    );
  return (
    <Sheet>
      <Empty title="Nothing is defined yet">
        <p>
          A job with a <code>schedule</code> in the job module is registered by the next tick. To make one at
          run time:
        </p>
        <p>
          <code>tock schedule add nightly --job my-job --cron '30 2 * * *' --timezone Europe/Berlin</code>
        </p>
      </Empty>
    </Sheet>
  );
}

function Pages({
  view,
  query,
  next,
}: {
  readonly view: View;
  readonly query: ListQuery;
  readonly next: string | null;
}) {
  const { after, name, job, state, sort } = query;
  if (next === null && after === null) return null;
  const address = (place: string | null) =>
    view.link('/schedules', { name, job, state, sort: sort === 'name' ? null : sort, after: place });
  return (
    <div class="paging">
      {after === null ? null : (
        <a class="button" href={address(null)}>
          ‹ First page
        </a>
      )}
      {next === null ? null : (
        <a class="button" href={address(next)}>
          Next page ›
        </a>
      )}
    </div>
  );
}
