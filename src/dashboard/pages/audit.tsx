// Audit: who did what, newest first, with filters in the address.
import { type AuditFilter, listAudit } from '../../answers/audit.js';
import type { AuditRecord } from '../../model/audit.js';
import { TockError } from '../../model/errors.js';
import { isStorable, quote } from '../../model/names.js';
import { ACTIONS, actionsNamed, VIAS, type Via } from '../../model/operator.js';
import { readInstant } from '../../model/schedule/instant-text.js';
import { Page } from '../layout/page.js';
import { Empty, Sheet, Time } from '../layout/parts.js';
import { readCount, readRunId } from '../query.js';
import type { App, Query, View } from '../view.js';
import { AuditWhat } from './operate-parts.js';

const PAGE_SIZE = 50;

/** How far back, by the word of the address. */
const SPANS = [
  ['1h', 'the last hour', 3_600_000],
  ['24h', 'the last 24 hours', 86_400_000],
  ['7d', 'the last 7 days', 7 * 86_400_000],
  ['30d', 'the last 30 days', 30 * 86_400_000],
] as const;

/** The filter as the address has it. Empty: not filtered. */
interface Asked {
  readonly operator: string;
  readonly action: string;
  readonly via: string;
  readonly target: string;
  readonly within: string;
  /** Instants, for links from elsewhere. */
  readonly since: string;
  readonly until: string;
}

export function addAuditPage(app: App): void {
  app.get('/audit', async c => {
    const view = c.get('view');
    const text = (name: string) => readText(c.req.query(name) ?? '', name);
    const asked: Asked = {
      operator: text('operator'),
      action: text('action'),
      via: text('via'),
      target: text('target'),
      within: text('within'),
      since: text('since'),
      until: text('until'),
    };
    const limit = readCount(c.req.query('limit'), 'limit', { max: 1000, fallback: PAGE_SIZE });
    const before = c.req.query('before');
    const filter: AuditFilter = {
      ...readFilter(asked, view.now),
      limit: limit + 1,
      ...(before ? { before: readRunId(before, 'before') } : {}),
    };
    const found = await listAudit(view.reads, filter);
    const records = found.slice(0, limit);
    const last = found.length > limit ? records.at(-1) : undefined;
    const query: Query = { ...asked, limit: limit === PAGE_SIZE ? null : limit };
    const isFiltered = Object.values(asked).some(value => value !== '');
    return c.html(
      <Page
        view={view}
        title="Audit"
        current="audit"
        {...(before ? {} : { live: 15 })}
        lead="What people changed, from these pages, the command line and the library. Each row was written together with the change itself."
      >
        <Filters view={view} asked={asked} isFiltered={isFiltered} />
        {records.length === 0 ? (
          <NoRows view={view} isFiltered={isFiltered} isFirst={!before} />
        ) : (
          <AuditTable view={view} records={records} asked={asked} />
        )}
        <p class="pager">
          {before ? <a href={view.link('/audit', query)}>Newest</a> : null}
          {last === undefined ? null : <a href={view.link('/audit', { ...query, before: last.id })}>Older</a>}
        </p>
      </Page>,
    );
  });
}

function readText(text: string, name: string): string {
  const trimmed = text.trim();
  if (trimmed.length <= 600 && isStorable(trimmed)) return trimmed;
  throw bad(`${name} is too long, or holds what no text may hold`);
}

const bad = (message: string) => new TockError('TOCK_BAD_OPTION', message);

function readFilter({ operator, action, via, target, within, since, until }: Asked, now: Date): AuditFilter {
  if (action !== '' && actionsNamed(action).length === 0)
    throw bad(`action is ${quote(action)}, which is none`);
  if (via !== '' && !(VIAS as readonly string[]).includes(via))
    throw bad(`via is ${quote(via)}; it must be one of ${VIAS.join(', ')}`);
  const span = SPANS.find(([word]) => word === within);
  if (within !== '' && span === undefined)
    throw bad(`within is ${quote(within)}; it must be one of ${SPANS.map(([word]) => word).join(', ')}`);
  const from =
    since !== '' ? readTime(since, 'since') : span === undefined ? null : new Date(now.getTime() - span[2]);
  return {
    ...(operator === '' ? {} : { operator }),
    ...(action === '' ? {} : { action }),
    ...(via === '' ? {} : { via: via as Via }),
    ...(target === '' ? {} : { target }),
    ...(from === null ? {} : { since: from }),
    ...(until === '' ? {} : { until: readTime(until, 'until') }),
  };
}

function readTime(text: string, name: string): Date {
  try {
    return new Date(readInstant(text, name));
  } catch (error) {
    throw error instanceof TockError ? bad(error.message) : error;
  }
}

const GROUPS: readonly (readonly [name: string, label: string])[] = [
  ['runs', 'all of runs'],
  ['schedules', 'all of schedules'],
  ['queues', 'all of queues'],
];

function Filters({
  view,
  asked,
  isFiltered,
}: {
  readonly view: View;
  readonly asked: Asked;
  readonly isFiltered: boolean;
}) {
  return (
    <form method="get" action={view.link('/audit')} class="fields filters">
      <label>
        <span>Who</span>
        <input name="operator" value={asked.operator} placeholder="anyone" autocomplete="off" />
      </label>
      <label>
        <span>Action</span>
        <select name="action">
          <option value="">any</option>
          {[...GROUPS, ...Object.keys(ACTIONS).map(action => [action, action] as const)].map(
            ([name, label]) => (
              <option value={name} selected={name === asked.action}>
                {label}
              </option>
            ),
          )}
        </select>
      </label>
      <label>
        <span>On</span>
        <input name="target" value={asked.target} placeholder="a schedule, queue or run" autocomplete="off" />
      </label>
      <label>
        <span>Through</span>
        <select name="via">
          <option value="">anything</option>
          {VIAS.map(via => (
            <option value={via} selected={via === asked.via}>
              {VIA_WORDS[via]}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>When</span>
        <select name="within">
          <option value="">any time</option>
          {SPANS.map(([word, label]) => (
            <option value={word} selected={word === asked.within}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {asked.since === '' ? null : <input type="hidden" name="since" value={asked.since} />}
      {asked.until === '' ? null : <input type="hidden" name="until" value={asked.until} />}
      <div class="actions">
        <button>Filter</button>
        {isFiltered ? <a href={view.link('/audit')}>Clear</a> : null}
      </div>
    </form>
  );
}

const VIA_WORDS: Readonly<Record<Via, string>> = {
  page: 'a page',
  cli: 'the command line',
  api: 'the library',
  agent: 'an agent',
  alert: 'an alert',
};

function NoRows({
  view,
  isFiltered,
  isFirst,
}: {
  readonly view: View;
  readonly isFiltered: boolean;
  readonly isFirst: boolean;
}) {
  if (isFiltered)
    return (
      <Empty title="Nothing matches">
        <p>
          <a href={view.link('/audit')}>Show everything</a>
        </p>
      </Empty>
    );
  if (!isFirst) return <Empty title="Nothing is older" />;
  return (
    <Empty title="No actions on record yet">
      <p>
        Retries, cancels, pauses, edits of schedules and limits, backfills and runs by hand leave a row here,
        with a name. In a terminal that is <code>TOCK_OPERATOR</code> or the user; in an app it is whom{' '}
        <code>tock.as</code> names.
      </p>
    </Empty>
  );
}

function AuditTable({
  view,
  records,
  asked,
}: {
  readonly view: View;
  readonly records: readonly AuditRecord[];
  readonly asked: Asked;
}) {
  return (
    <Sheet flush>
      <table class="stacked audit">
        <thead>
          <tr>
            <th>When</th>
            <th>Who</th>
            <th>What</th>
            <th>Through</th>
          </tr>
        </thead>
        <tbody>
          {records.map(record => (
            <tr>
              <td class="nowrap" data-label="When">
                <Time view={view} at={record.at} />
                <span class="sub">
                  <Time view={view} at={record.at} relative />
                </span>
              </td>
              <td data-label="Who">
                <a href={view.link('/audit', { ...asked, operator: record.operator })}>{record.operator}</a>
                {record.operator === record.databaseRole ? null : (
                  <span class="sub">as {record.databaseRole}</span>
                )}
              </td>
              <td data-label="What">
                <AuditWhat view={view} record={record} />
              </td>
              <td class="nowrap" data-label="Through">
                {VIA_WORDS[record.via]}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Sheet>
  );
}
