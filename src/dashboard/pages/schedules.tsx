// Schedules: every definition in words, when it runs next, and what became of its last occurrences.
import { includesRole } from '../../model/operator.js';
import { tookWords } from '../schedules/row-words.js';
import {
  DEFINITION_STATES,
  type DefinitionPageFilter,
  type DefinitionState,
  type ListedDefinition,
  pageAfter,
  readDefinitionPage,
} from '../../store/reads/definition-pages.js';
import { Page } from '../layout/page.js';
import { ActionForm, Empty, Sheet } from '../layout/parts.js';
import { relativeText } from '../layout/text.js';
import { MarkIcon } from '../pictures/mark.js';
import { Strip } from '../pictures/strip.js';
import { type Recent, readRecent, scheduleOfListed } from '../schedules/read-schedule.js';
import { conditionOf, hasSchedule } from '../schedules/condition.js';
import { inZones, startOf, zoneTime } from '../schedules/times.js';
import { plainSchedule, writtenSchedule } from '../words/schedule-words.js';
import { OCCURRENCE_STATES, STATE_WORDS } from '../../model/occurrences/occurrence.js';
import { findZoneOrUtc } from '../schedules/zones.js';
import type { CompiledSchedule } from '../../model/schedule/compile.js';
import type { App, View } from '../view.js';
import { addBulkActions } from './schedule/bulk.js';

const LIMIT = 50;
const STATE_LABELS: Readonly<Record<DefinitionState, string>> = {
  scheduled: 'Scheduled',
  late: 'Late',
  paused: 'Paused',
  broken: 'Broken',
  manual: 'By hand',
  removed: 'Removed',
};

/** The filter and place of a page, as its address has them. */
export interface ListQuery extends DefinitionPageFilter {
  readonly sort: 'name' | 'next';
  readonly after: string | null;
}

export function readListQuery(query: Readonly<Record<string, string | undefined>>): ListQuery {
  const text = (value: string | undefined) => (value?.trim() ? value.trim().slice(0, 200) : null);
  return {
    name: text(query['name']),
    job: text(query['job']),
    state: DEFINITION_STATES.find(state => state === query['state']) ?? null,
    sort: query['sort'] === 'next' ? 'next' : 'name',
    after: text(query['after']),
  };
}

interface Row {
  readonly definition: ListedDefinition;
  readonly schedule: CompiledSchedule | null;
  readonly recent: Recent;
}

export function addSchedulesPage(app: App): void {
  app.get('/schedules', async c => {
    const view = c.get('view');
    const query = readListQuery(c.req.query());
    const found = await readDefinitionPage(view.reads, { ...query, limit: LIMIT + 1 });
    const shown = found.slice(0, LIMIT);
    const opened = shown.map(definition => ({ definition, schedule: scheduleOfListed(definition) }));
    const recent = await readRecent(view.reads, opened, 30);
    const rows = opened.map(({ definition, schedule }) => ({
      definition,
      schedule,
      recent: recent.get(definition.id) ?? { occurrences: [], p50: null, p95: null },
    }));
    const last = found.length > LIMIT ? shown.at(-1) : undefined;
    return c.html(
      <Page view={view} title="Schedules" current="schedules" live={30} lead={LEAD}>
        <Filter view={view} query={query} />
        {rows.length === 0 ? <None view={view} query={query} /> : <List view={view} query={query} rows={rows} />}
        <Pages view={view} query={query} next={last === undefined ? null : pageAfter(last, query.sort)} />
      </Page>,
    );
  });
  addBulkActions(app);
}

const LEAD = 'What runs by itself, and what became of each of its last occurrences: those that ran, and those that did not, with the reason.';

function Filter({ view, query }: { readonly view: View; readonly query: ListQuery }) {
  return (
    <form method="get" action={view.link('/schedules')} class="filter" role="search">
      <input type="search" name="name" value={query.name ?? ''} placeholder="Part of a name" aria-label="Part of a name" data-search />
      <input type="text" name="job" value={query.job ?? ''} placeholder="Job" aria-label="Job" />
      <select name="state" aria-label="State">
        <option value="">All states</option>
        {DEFINITION_STATES.map(state => (
          <option value={state} selected={state === query.state}>
            {STATE_LABELS[state]}
          </option>
        ))}
      </select>
      <select name="sort" aria-label="Order">
        <option value="name">By name</option>
        <option value="next" selected={query.sort === 'next'}>
          Next first
        </option>
      </select>
      <button>Show</button>
      {query.name || query.job || query.state ? <a class="muted" href={view.link('/schedules')}>Clear</a> : null}
    </form>
  );
}

function None({ view, query }: { readonly view: View; readonly query: ListQuery }) {
  if (query.name || query.job || query.state || query.after)
    return (
      <Sheet>
        <Empty title="No schedule fits this filter">
          <p>
            <a class="link" href={view.link('/schedules')}>Show all schedules</a>
          </p>
        </Empty>
      </Sheet>
    );
  return (
    <Sheet>
      <Empty title="Nothing is defined yet">
        <p>
          A job with a <code>schedule</code> in the job module is registered by the next tick. To make one at run
          time:
        </p>
        <p>
          <code>tock schedule add nightly --job my-job --cron '30 2 * * *' --timezone Europe/Berlin</code>
        </p>
      </Empty>
    </Sheet>
  );
}

function List({ view, query, rows }: { readonly view: View; readonly query: ListQuery; readonly rows: readonly Row[] }) {
  const mayAct = includesRole(view.user.role, 'operate');
  const states = new Set(rows.flatMap(({ recent }) => recent.occurrences.map(({ state }) => state)));
  return (
    <>
      <Sheet flush>
        <table class="schedules">
          <thead>
            <tr>
              {mayAct ? <th class="check"><span class="unseen">Select</span></th> : null}
              <th>Schedule</th>
              <th>When</th>
              <th>Next</th>
              <th>Last 30 occurrences</th>
              <th class="n">Takes</th>
              <th>State</th>
              {mayAct ? <th><span class="unseen">Actions</span></th> : null}
            </tr>
          </thead>
          <tbody>
            {rows.map(row => (
              <ScheduleRow view={view} row={row} mayAct={mayAct} />
            ))}
          </tbody>
        </table>
      </Sheet>
      <div class="legend">
        {OCCURRENCE_STATES.filter(state => states.has(state)).map(state => (
          <span>
            <MarkIcon state={state} /> {STATE_WORDS[state]}
          </span>
        ))}
      </div>
      {mayAct ? <Bulk view={view} query={query} /> : null}
    </>
  );
}

function ScheduleRow({ view, row, mayAct }: { readonly view: View; readonly row: Row; readonly mayAct: boolean }) {
  const { definition, schedule, recent } = row;
  const { name, job, queue, timezone, next_at: next } = definition;
  const zone = findZoneOrUtc(timezone);
  const now = view.now.getTime();
  const href = view.link(`/schedules/${encodeURIComponent(name)}`);
  const words = plainSchedule(definition);
  const isHeld = definition.paused_at !== null || definition.vanished_at !== null || definition.broken_at !== null;
  const { look, word } = conditionOf(definition, recent.occurrences, next !== null);
  return (
    <tr>
      {mayAct ? (
        <td class="check">
          <input type="checkbox" name="schedule" value={name} form="bulk" aria-label={`Select ${name}`} />
        </td>
      ) : null}
      <td class="name" data-label="Schedule">
        <a href={href} class="strong">{name}</a>
        <span class="sub">
          {job === name ? '' : `job ${job} · `}queue {queue}
        </span>
      </td>
      <td class="when" data-label="When">
        {words === '' ? <span class="faint">by hand only</span> : words}
        {words === '' ? null : (
          <span class="sub">
            <code>{writtenSchedule(definition)}</code>
            {timezone === 'UTC' && definition.cron === null ? '' : ` ${timezone}`}
          </span>
        )}
      </td>
      <td data-label="Next">
        {next === null || isHeld ? (
          <span class="faint">–</span>
        ) : (
          <>
            <time datetime={next.toISOString()}>{next.getTime() <= now ? 'due now' : relativeText(next, view.now)}</time>
            <span class="sub">{inZones(startOf(definition, schedule, next.getTime()), now, timezone, 'UTC')}</span>
          </>
        )}
      </td>
      <td data-label="Last 30 occurrences">
        <a href={href}>
          <Strip occurrences={recent.occurrences} timeText={at => zoneTime(zone, at, now)} />
        </a>
      </td>
      <td class="n" data-label="Takes">{tookWords(recent)}</td>
      <td data-label="State">
        <span class={`pill ${look}`}>{word}</span>
      </td>
      {mayAct ? (
        <td class="actions">
          <RowActions view={view} definition={definition} />
        </td>
      ) : null}
    </tr>
  );
}

function RowActions({ view, definition }: { readonly view: View; readonly definition: ListedDefinition }) {
  const { name, vanished_at: vanished, paused_at: paused } = definition;
  const at = `/schedules/${encodeURIComponent(name)}`;
  const fields = { back: view.here };
  if (vanished) return null;
  return (
    <>
      <ActionForm view={view} action={`${at}/run`} label="Run now" fields={fields} needs="operate" />
      {!hasSchedule(definition) ? null : paused ? (
        <ActionForm view={view} action={`${at}/resume`} label="Resume" fields={fields} needs="operate" />
      ) : (
        <ActionForm view={view} action={`${at}/pause`} label="Pause" fields={fields} needs="operate" />
      )}
    </>
  );
}

/** Its check boxes stand in the table, and name it by the attribute `form`. */
function Bulk({ view, query }: { readonly view: View; readonly query: ListQuery }) {
  const { name, job, state } = query;
  return (
    <form id="bulk" method="post" action={view.link('/schedules')} class="bulk">
      <input type="hidden" name="name" value={name ?? ''} />
      <input type="hidden" name="job" value={job ?? ''} />
      <input type="hidden" name="state" value={state ?? ''} />
      <input type="hidden" name="back" value={view.here} />
      <label>
        <select name="which" aria-label="Which schedules">
          <option value="selected">The selected ones</option>
          <option value="all">{name || job || state ? 'All that fit the filter' : 'All schedules'}</option>
        </select>
      </label>
      <button name="act" value="pause">Pause …</button>
      <button name="act" value="resume">Resume …</button>
      <button name="act" value="run">Run now …</button>
      <span class="muted">Asks first, and tells how many there are.</span>
    </form>
  );
}

function Pages({ view, query, next }: { readonly view: View; readonly query: ListQuery; readonly next: string | null }) {
  const { after, name, job, state, sort } = query;
  if (next === null && after === null) return null;
  const address = (place: string | null) =>
    view.link('/schedules', { name, job, state, sort: sort === 'name' ? null : sort, after: place });
  return (
    <div class="paging">
      {after === null ? null : <a class="button" href={address(null)}>‹ First page</a>}
      {next === null ? null : <a class="button" href={address(next)}>Next page ›</a>}
    </div>
  );
}
