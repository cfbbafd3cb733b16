// The checker: pure, and with no knowledge of how the engine works.
// In: a history, the final state. Out: the invariants that do not hold, one line each.
//
// I12 (concurrency limits) is in history-limits.ts, I15 and I16 (handoffs) in history-hand-offs.ts, I19 and I20 (waits) in
// history-waits.ts, I18 and I21 in waits.ts, I23 and I24 (fair keys) in history-fair.ts, I10 (what clients are told) in suite/check.ts. I13 is the caller's: it waits for quiet.
import { type FinalState, type HistoryEvent, type HistoryRow, ms, TOLERANCE_MS } from './history.js';
import { checkHandOffs, isHandedOff } from './history-hand-offs.js';
import { checkWaits } from './history-waits.js';

export interface Expectations {
  /** Fixed periods of schedules, aligned to the epoch, in milliseconds, by definition: the oracle of I7. */
  readonly periods: Readonly<Record<string, number>>;
  /** Bounds of the wait after a failed attempt, in milliseconds, by job; others are not checked. */
  readonly backoffs: Readonly<Record<string, (attempt: number) => readonly [number, number]>>;
  /** Jobs whose handler writes its effect through ctx.transaction. */
  readonly transactional: readonly string[];
}

/** Checks what holds at any moment, also in the middle of the faults; and what holds once all is quiet. */
export function checkFinal(
  events: readonly HistoryEvent[],
  final: FinalState,
  expected: Expectations,
): string[] {
  return [
    ...checkRuns(events, expected),
    ...checkOccurrences(events),
    ...checkCursors(events),
    ...checkLedger(events),
    ...checkHandOffs(events),
    ...checkWaits(events),
    ...checkOracle(events, expected),
    ...checkEffects(events, final, expected),
    ...checkBalance(events, final),
  ];
}

interface Holder {
  readonly app: string;
  readonly fence: number;
}

/** I1-I5 and I11, run by run. */
function checkRuns(events: readonly HistoryEvent[], expected: Expectations): string[] {
  const wrong: string[] = [];
  const holders = new Map<number, Holder>();
  const lastFence = new Map<number, number>();
  const claims = new Map<number, number>();
  const putOff = new Map<number, number>();
  const ended = new Set<string>();
  const ends = new Map<string, HistoryRow>();
  for (const { place, move, new: row } of events)
    if (place === 'finished' && move === 'insert' && row) ends.set(`${row.id}:${row.generation}`, row);
  for (const event of events) {
    const { place, move, old, new: row, app } = event;
    const id = row?.id ?? old?.id ?? 0;
    const say = (text: string) => void wrong.push(`${text} (run ${id}, event ${event.seq} by ${app})`);
    if (place === 'live' && move === 'update' && old && row) {
      const isClaim =
        row.status === 'running' &&
        (old.status !== 'running' || (old.locked_by !== row.locked_by && !isHandedOff(row)));
      if (isClaim) {
        const fence = row.fence ?? 0;
        if (fence <= (lastFence.get(id) ?? 0)) say(`I1 fence ${fence} after ${lastFence.get(id)}`);
        lastFence.set(id, fence);
        if (old.status === 'running') say('I2 claimed while it was running');
        if (ms(row.started_at) + TOLERANCE_MS < ms(old.run_at))
          say(`I11 started at ${row.started_at}, before ${old.run_at}`);
        if (row.attempts !== (old.attempts ?? 0) + 1)
          say(`I5 the claim did not count: attempts ${row.attempts}`);
        const count = (claims.get(id) ?? 0) + 1;
        claims.set(id, count);
        const uncounted = (row.releases ?? 0) + (putOff.get(id) ?? 0);
        if (count > (row.max_attempts ?? 0) + uncounted)
          say(
            `I5 ${row.job} claimed ${count} times, with ${row.max_attempts} attempts and ${uncounted} given back`,
          );
        if ((row.attempts ?? 0) > (row.max_attempts ?? 0)) say(`I5 attempt ${row.attempts}`);
        holders.set(id, { app, fence });
      } else if (old.status === 'running') {
        checkWriter(event, row, holders.get(id), say);
        if (isPutOff(row, old)) putOff.set(id, (putOff.get(id) ?? 0) + 1);
        if (row.status === 'failed' && !isReaped(row, old)) checkBackoff(row, expected, say);
      }
    }
    if (place === 'live' && move === 'delete' && old?.status === 'running')
      checkWriter(event, ends.get(`${id}:${old.generation}`), holders.get(id), say);
    if (place === 'finished' && move === 'insert' && row) {
      const end = `${id}:${row.generation}`;
      if (ended.has(end)) say('I4 ended twice');
      ended.add(end);
      if ((row.fence ?? 0) < (lastFence.get(id) ?? 0))
        say(`I3 ended with fence ${row.fence} after ${lastFence.get(id)}`);
    }
  }
  return wrong;
}

/** Whoever changes a running run holds it, or takes it back because its lease is over. */
function checkWriter(
  { app, old }: HistoryEvent,
  after: HistoryRow | undefined,
  holder: Holder | undefined,
  say: (text: string) => void,
): void {
  if (after === undefined) return say('I14 deleted, and not among the finished');
  const isAsked = after.status === 'cancelled' && Boolean(old?.cancel_requested_at) && app !== holder?.app;
  if (isAsked || isReaped(after, old)) {
    const at = isAsked ? after.finished_at : after.errors?.at(-1)?.at;
    if (ms(at) + TOLERANCE_MS < ms(old?.locked_until))
      say(`I2 taken back at ${at}, leased until ${old?.locked_until}`);
  } else if (
    app !== holder?.app &&
    app !== 'driver' &&
    !isHandedOff(old) &&
    !endsLease(after, old) &&
    !concernsWaits(after, old)
  ) {
    say(`I3 made ${after.status} by another than its holder ${holder?.app}`);
  }
}

/** A worker that begins ends the leases of processes of its host that are gone, and changes nothing else. */
function endsLease(after: HistoryRow, before: HistoryRow | null): boolean {
  return (
    after.status === 'running' &&
    after.fence === before?.fence &&
    ms(after.locked_until) < ms(before?.locked_until)
  );
}

/** Who waits for a run marks it, and who ends a run's wait makes it due, if it does not run. */
function concernsWaits(after: HistoryRow, before: HistoryRow | null): boolean {
  const rest = (row: HistoryRow | null) => JSON.stringify({ ...row, has_waiters: null });
  return rest(after) === rest(before);
}

/** Taken back by a reaper: it says so in an error of its own. */
function isReaped(after: HistoryRow, before: HistoryRow | null): boolean {
  const hasNewError = (after.errors?.length ?? 0) > (before?.errors?.length ?? 0);
  return after.status !== 'running' && hasNewError && after.errors?.at(-1)?.code === 'TOCK_LEASE_LOST';
}

/**
 * Given back before its handler was called: it could not begin soon enough, or needs a slot or the opening of its window.
 * It leaves no error; what a handler ends with does.
 */
function isPutOff(after: HistoryRow, before: HistoryRow): boolean {
  return (
    after.status !== 'running' &&
    after.attempts === (before.attempts ?? 0) - 1 &&
    after.releases === before.releases &&
    (after.errors?.length ?? 0) === (before.errors?.length ?? 0)
  );
}

function checkBackoff(row: HistoryRow, { backoffs }: Expectations, say: (text: string) => void): void {
  const error = row.errors?.at(-1);
  const bounds = backoffs[row.job ?? '']?.(row.attempts ?? 0);
  if (bounds === undefined || error === undefined) return;
  const wait = ms(row.run_at) - ms(error.at);
  if (wait < bounds[0] - TOLERANCE_MS || wait > bounds[1] + TOLERANCE_MS)
    say(`I11 a wait of ${wait} ms after attempt ${row.attempts}, not ${bounds.join(' to ')}`);
}

const isPlanned = (row: HistoryRow | null): row is HistoryRow =>
  row !== null && row.trigger === 'cron' && row.generation === 1 && Boolean(row.scheduled_for);
/** Rows that stand for occurrences when they are made: a run, or a skip of the planner's. */
function plannedRows(events: readonly HistoryEvent[]): HistoryRow[] {
  return events.flatMap(({ place, move, new: row }) => {
    if (move !== 'insert' || !isPlanned(row)) return [];
    const isMade =
      place === 'live' ||
      (place === 'finished' &&
        row.status === 'skipped' &&
        row.attempts === 0 &&
        row.skip_reason === 'catchup') ||
      (place === 'finished' && row.skip_reason === 'overlap');
    return isMade ? [row] : [];
  });
}

/** I6: each occurrence once, ever. */
function checkOccurrences(events: readonly HistoryEvent[]): string[] {
  const seen = new Set<string>();
  return plannedRows(events).flatMap(row => {
    const occurrence = `${row.definition_id} ${row.scheduled_for}`;
    if (seen.has(occurrence)) return [`I6 occurrence ${occurrence} was materialized twice`];
    seen.add(occurrence);
    return [];
  });
}

/** I8. */
function checkCursors(events: readonly HistoryEvent[]): string[] {
  return events.flatMap(({ place, old, new: row, seq }) =>
    place === 'definition' && old && row && ms(row.cursor) < ms(old.cursor)
      ? [`I8 the cursor of ${row.name} fell from ${old.cursor} to ${row.cursor} (event ${seq})`]
      : [],
  );
}

/** I9, the part that the ledger alone shows. */
function checkLedger(events: readonly HistoryEvent[]): string[] {
  const seen = new Set<string>();
  return events.flatMap(({ place, move, new: row, old }) => {
    if (place !== 'effect') return [];
    if (move === 'delete') return [`I9 the ledger forgot ${old?.key}`];
    if (move !== 'insert') return [];
    const key = row?.key ?? '';
    if (seen.has(key)) return [`I9 ${key} was committed twice`];
    seen.add(key);
    return [];
  });
}

/** The occurrences of one definition: those that its period gives, and how often each instant is on record. */
interface Occurrences {
  readonly name: string;
  readonly expected: ReadonlySet<number>;
  readonly found: ReadonlyMap<number, number>;
  readonly wrong: readonly string[];
}

/** Plain arithmetic: what the period gives while the cursor moved, beside what was materialized or skipped on record. */
function occurrencesOf(
  events: readonly HistoryEvent[],
  { periods }: Pick<Expectations, 'periods'>,
): Occurrences[] {
  const rows = plannedRows(events);
  return Object.entries(periods).map(([name, period]) => {
    const wrong: string[] = [];
    const moves = events.filter(({ place, new: row }) => place === 'definition' && row?.name === name);
    const [from, to] = [ms(moves[0]?.new?.cursor), ms(moves.at(-1)?.new?.cursor)];
    const id = moves[0]?.new?.id;
    const found = new Map<number, number>();
    const cover = (at: number) => found.set(at, (found.get(at) ?? 0) + 1);
    for (const row of rows.filter(row => row.definition_id === id)) {
      const last = ms(row.scheduled_for);
      const isSpan = row.skip_reason !== null && row.skip_reason !== undefined;
      let first = isSpan ? ms(row.interval_start) : last;
      if (isSpan && row.occurrence_count !== Math.round((last - first) / period) + 1)
        wrong.push(
          `I7 ${name} skipped ${row.occurrence_count} from ${row.interval_start} to ${row.scheduled_for}`,
        );
      for (; first <= last; first += period) cover(first);
    }
    const expected = new Set<number>();
    for (let at = (Math.floor(from / period) + 1) * period; at <= to; at += period) expected.add(at);
    return { name, expected, found, wrong };
  });
}

/** I7: what was materialized, and what is recorded as skipped, is what the period says. */
function checkOracle(events: readonly HistoryEvent[], expectations: Expectations): string[] {
  const wrong = occurrencesOf(events, expectations).flatMap(({ name, expected, found, wrong }) => {
    const lines = [...wrong];
    for (const at of expected) {
      const times = found.get(at) ?? 0;
      if (times !== 1) lines.push(`I7 ${name} at ${new Date(at).toISOString()} is on record ${times} times`);
    }
    if (found.size !== expected.size)
      lines.push(`I7 ${name} has ${found.size} occurrences, not ${expected.size}`);
    if (expected.size === 0) lines.push(`I7 ${name} never came due: the experiment shows nothing`);
    return lines;
  });
  return wrong.slice(0, 20);
}

/** How many occurrences the periods give, and how many are on record. */
export function countOccurrences(
  events: readonly HistoryEvent[],
  expectations: Pick<Expectations, 'periods'>,
): { readonly expected: number; readonly found: number } {
  const all = occurrencesOf(events, expectations);
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
  return {
    expected: sum(all.map(each => each.expected.size)),
    found: sum(all.flatMap(each => [...each.found.values()])),
  };
}

/** I9: effects and outcomes belong together. */
function checkEffects(
  events: readonly HistoryEvent[],
  final: FinalState,
  { transactional }: Expectations,
): string[] {
  const wrong = final.onceEffects
    .filter(({ count }) => count !== 1)
    .map(({ key, count }) => `I9 the effect of ${key} was committed ${count} times`);
  const ledger = new Set(
    events.flatMap(({ place, new: row }) => (place === 'effect' && row?.key ? [row.key] : [])),
  );
  for (const { key } of final.onceEffects)
    if (!ledger.has(`once:${key}`)) wrong.push(`I9 ${key} is not in the ledger`);
  for (const key of ledger) {
    if (key.startsWith('once:') && !final.onceEffects.some(each => `once:${each.key}` === key))
      wrong.push(`I9 ${key} is in the ledger, and its effect is not there`);
  }
  const counts = new Map(final.transactionEffects.map(({ runId, count }) => [runId, count]));
  for (const { place, move, new: row } of events) {
    if (place !== 'finished' || move !== 'insert' || !transactional.includes(row?.job ?? '')) continue;
    const count = counts.get(String(row?.id)) ?? 0;
    const due = row?.status === 'succeeded' ? 1 : 0;
    if (count !== due)
      wrong.push(`I9 run ${row?.id} is ${row?.status} and its transaction was committed ${count} times`);
  }
  return wrong;
}

/** I14: replayed, the record gives what is in the tables. */
function checkBalance(events: readonly HistoryEvent[], final: FinalState): string[] {
  const places = { live: new Set<string>(), finished: new Set<string>() };
  for (const { place, move, old, new: row } of events) {
    if (place !== 'live' && place !== 'finished') continue;
    if (move === 'insert') places[place].add(String(row?.id));
    if (move === 'delete') places[place].delete(String(old?.id));
  }
  const wrong: string[] = [];
  for (const place of ['live', 'finished'] as const) {
    const [recorded, found] = [[...places[place]].sort(), [...final[place]].sort()];
    if (recorded.join() !== found.join())
      wrong.push(`I14 ${found.length} runs are ${place}, ${recorded.length} should be`);
  }
  const created = new Set(
    events.flatMap(({ place, move, new: row }) =>
      (place === 'live' || place === 'finished') && move === 'insert' ? [String(row?.id)] : [],
    ),
  );
  const kept = new Set([...final.live, ...final.finished]);
  for (const id of created) if (!kept.has(id)) wrong.push(`I14 run ${id} is gone`);
  return wrong;
}
