// What a filter lists, as files: CSV and JSON, newest first. The same as `tock runs --csv` and `--json`.
import type { Context } from 'hono';
import { listRuns } from '../../answers/runs/lists.js';
import { walkRuns } from '../../answers/runs/walk-runs.js';
import { deepJsonText } from '../../model/json-depth.js';
import { redacted } from '../../model/operator.js';
import { type FilterText, readFilterText } from '../../model/run/match/filter-text.js';
import { requireSight } from '../../model/run/match/run-match.js';
import type { RunOrder } from '../../model/run/match/run-order.js';
import { CSV_HEADER, csvLine } from '../../model/run/run-csv.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { numberText } from '../layout/text.js';
import type { App, View } from '../view.js';
import { listQuery, readFilter } from './filter.js';

/** No more than this many runs: what is beyond, the command line prints. */
const MOST = { csv: 10_000, json: 1000 } as const;
const TYPES = { csv: 'text/csv; charset=utf-8', json: 'application/json' } as const;
type Form = keyof typeof MOST;

export function addRunFiles(app: App): void {
  for (const form of ['csv', 'json'] as const)
    app.get(`/runs.${form}`, async c => await file(c, c.get('view'), form));
}

async function file(c: Context, view: View, form: Form): Promise<Response> {
  const { match } = readFilter(
    readFilterText(name => c.req.queries(name) ?? []),
    view.zone,
    view.now,
  );
  requireSight(view.user, match);
  const shown = (run: RunRecord) => (view.user.seesPayloads ? run : redacted(run));
  const list = async (filter: object) => (await listRuns(view.reads, filter)).map(shown);
  const order = c.req.query('order') === 'ended' ? { order: 'ended' as const } : {};
  const parts = WRITERS[form](walkRuns(list, { ...match, ...order }, MOST[form]));
  // What is wrong with the first read is a page that says so, not half a file.
  const first = await parts.next();
  c.header('content-disposition', `attachment; filename="runs.${form}"`);
  c.header('content-type', TYPES[form]);
  return c.body(ReadableStream.from(joined(first.value ?? '', parts)));
}

async function* joined(first: string, others: AsyncGenerator<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  yield encoder.encode(first);
  for await (const text of others) yield encoder.encode(text);
}

const WRITERS = { csv: csvParts, json: jsonParts };

async function* csvParts(batches: AsyncGenerator<readonly RunRecord[]>): AsyncGenerator<string> {
  let head = `${CSV_HEADER}\n`;
  for await (const batch of batches) {
    yield `${head}${batch.map(csvLine).join('\n')}\n`;
    head = '';
  }
  if (head !== '') yield head;
}

async function* jsonParts(batches: AsyncGenerator<readonly RunRecord[]>): AsyncGenerator<string> {
  let before = '{"runs":[';
  for await (const batch of batches) {
    yield `${before}${batch.map(run => deepJsonText(run)).join(',')}`;
    before = ',';
  }
  yield `${before === ',' ? '' : before}]}\n`;
}

/** Links to the files of what is listed. */
export function Files({
  view,
  text,
  order,
  hasRuns,
}: {
  readonly view: View;
  readonly text: FilterText;
  readonly order: RunOrder | undefined;
  readonly hasRuns: boolean;
}) {
  if (!hasRuns) return null;
  const query = listQuery(text, order);
  return (
    <p class="files muted">
      As{' '}
      <a href={view.link('/runs.csv', query)} download title={`at most ${numberText(MOST.csv)} runs`}>
        CSV
      </a>{' '}
      or{' '}
      <a href={view.link('/runs.json', query)} download title={`at most ${numberText(MOST.json)} runs`}>
        JSON
      </a>
    </p>
  );
}
