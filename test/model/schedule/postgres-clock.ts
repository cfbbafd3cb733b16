// A clock of a zone from PostgreSQL's own time zones, in one direction: instant to civil time.
// In: a client of any server, zones and spans. Out: minutes as the oracle takes them, and the changes of offset.
import type { Client } from 'pg';
import { clockOf, type Minute } from './oracle.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Spans in one statement: some 300,000 minutes. */
const BATCH = 60;

/** A stretch [from, to) of instants in one zone, in epoch milliseconds, whole minutes. */
export interface Span {
  readonly timezone: string;
  readonly from: number;
  readonly to: number;
}

/** A change of offset: the first minute of the new one. Offsets are milliseconds east of UTC. */
export interface Change {
  readonly timezone: string;
  readonly at: number;
  readonly before: number;
  readonly after: number;
}

const SHIFT = (instant: string) =>
  `(date_part('epoch', to_timestamp(${instant}) at time zone zone) - (${instant}))::bigint`;

// Two passes: every six hours of the years, then every minute of the six hours in which something changes.
const CHANGES = `
with coarse as (
  select zone, second, ${SHIFT('second')} as shift
  from unnest($1::text[]) as zone, generate_series($2::bigint, $3::bigint, 21600) as second
), steps as (
  select zone, second, shift, lag(shift) over (partition by zone order by second) as before from coarse
), fine as (
  select zone, minute, ${SHIFT('minute')} as shift, ${SHIFT('minute - 60')} as before
  from steps, generate_series(second - 21540, second, 60) as minute
  where before <> shift
)
select zone, minute::float8, before::float8, shift::float8 from fine where before <> shift order by zone, minute`;

/** Every change of the zones between two instants; two within six hours are not told apart. */
export async function changesBetween(
  client: Client,
  zones: readonly string[],
  from: number,
  to: number,
): Promise<Change[]> {
  const { rows } = await client.query<{ zone: string; minute: number; before: number; shift: number }>(
    CHANGES,
    [zones, from / 1000, to / 1000],
  );
  return rows.map(row => ({
    timezone: row.zone,
    at: row.minute * 1000,
    before: row.before * 1000,
    after: row.shift * 1000,
  }));
}

const SCAN = `
with scanned as (
  select span, second, ${SHIFT('second')} as shift
  from unnest($1::text[], $2::bigint[], $3::bigint[]) with ordinality as spans (zone, first, past, span),
    generate_series(first, past - 60, 60) as second
), compared as (
  select span, second, shift, lag(shift) over (partition by span order by second) as before from scanned
)
select span::int, second::float8, shift::float8 from compared where before is distinct from shift order by span, second`;

/** Every minute of each span. The server looks at each; only the minutes at which the offset changes are sent. */
export async function scanSpans(client: Client, spans: readonly Span[]): Promise<Minute[][]> {
  const found: Minute[][] = [];
  for (let done = 0; done < spans.length; done += BATCH) {
    const batch = spans.slice(done, done + BATCH);
    const { rows } = await client.query<{ span: number; second: number; shift: number }>(SCAN, [
      batch.map(each => each.timezone),
      batch.map(each => each.from / 1000),
      batch.map(each => each.to / 1000),
    ]);
    for (const [index, { from, to }] of batch.entries()) {
      const steps = rows.filter(row => row.span === index + 1);
      found.push(minutesOf(steps, from, to));
    }
  }
  return found;
}

function minutesOf(
  steps: readonly { readonly second: number; readonly shift: number }[],
  from: number,
  to: number,
): Minute[] {
  const minutes: Minute[] = [];
  let index = -1;
  for (let instant = from; instant < to; instant += MINUTE) {
    if (steps[index + 1]?.second === instant / 1000) index++;
    const step = steps[index];
    if (step === undefined) throw new Error('a span begins with its offset');
    minutes.push({ instant, civil: instant + step.shift * 1000 });
  }
  return minutes;
}

/**
 * Whether Node's time zones say the same of these minutes: asked every hour, and on both sides of each change. The
 * versions of the two databases may differ, and governments decide late.
 */
export function agreesWithNode(timezone: string, minutes: readonly Minute[]): boolean {
  const clock = clockOf(timezone);
  return minutes.every((minute, index) => {
    const before = minutes[index - 1];
    const next = minutes[index + 1];
    const shift = minute.civil - minute.instant;
    const isBeside = [before, next].some(each => each !== undefined && each.civil - each.instant !== shift);
    return !isBeside && minute.instant % HOUR !== 0 ? true : clock(minute.instant) === minute.civil;
  });
}
