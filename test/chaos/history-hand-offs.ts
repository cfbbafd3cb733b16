// I15 and I16: runs that are handed off, and what another system decides about them.
// In: a history, and what the callers got for an answer. Out: where they do not hold, one line each.
//
// I15: a run is decided once under each fence, under the fence that it has, and while its lease lasts.
// I16: what was decided is what becomes of it; nothing else ends it but the end of its lease, or a cancel.
import { HANDED_OFF } from '../../src/model/run/states.js';
import { type HistoryEvent, type HistoryRow, ms, TOLERANCE_MS } from './history.js';

/** A call of tock.complete or tock.fail. `unknown`: the connection was lost. */
export interface DecisionCall {
  readonly runId: string;
  readonly fence: number;
  readonly decision: 'succeeded' | 'failed' | 'dead';
  readonly answer: boolean | 'unknown';
}

const noteKey = (row: HistoryRow) => `${row.run_id}:${row.fence}`;
const runKey = (row: HistoryRow) => `${row.id}:${row.fence}`;

/** Whether a live run is handed off. */
export const isHandedOff = (row: HistoryRow | null) =>
  row?.status === 'running' && row.locked_by === HANDED_OFF;

/** The states that a run may be in after a decision. A failure is a cancel where one was asked for. */
const AFTER: Readonly<Record<string, readonly string[]>> = {
  succeeded: ['succeeded'],
  failed: ['failed', 'dead', 'cancelled'],
  dead: ['dead'],
};

/** What holds at any moment. */
export function checkHandOffs(events: readonly HistoryEvent[]): string[] {
  const wrong: string[] = [];
  const live = new Map<number, HistoryRow>();
  const decided = new Map<string, string>();
  const ends = new Map<string, HistoryRow>();
  for (const { place, move, new: row } of events)
    if (place === 'finished' && move === 'insert' && row) ends.set(`${row.id}:${row.generation}`, row);
  for (const { seq, place, move, old, new: row, app } of events) {
    const say = (text: string) => void wrong.push(`${text} (event ${seq} by ${app})`);
    if (place === 'handOff' && row?.decided_at && row.decided_at !== old?.decided_at) {
      const run = live.get(row.run_id ?? 0);
      if (old?.decided_at) say(`I15 run ${noteKey(row)} was decided twice`);
      if (run?.status !== 'running' || run.fence !== row.fence)
        say(
          `I15 run ${row.run_id} was decided under fence ${row.fence}, and is ${run?.status} under ${run?.fence}`,
        );
      else if (ms(row.decided_at) > ms(run.locked_until) + TOLERANCE_MS)
        say(`I15 run ${noteKey(row)} was decided at ${row.decided_at}, leased until ${run.locked_until}`);
      decided.set(noteKey(row), row.decision ?? '');
    }
    if (place !== 'live') continue;
    const id = row?.id ?? old?.id ?? 0;
    if (row) live.set(id, row);
    else live.delete(id);
    if (!old || !isHandedOff(old) || isHandedOff(row)) continue;
    const after = row ?? ends.get(`${id}:${old.generation}`);
    const decision = decided.get(runKey(old));
    const isTakenBack = after?.errors?.at(-1)?.code === 'TOCK_LEASE_LOST' && after.status !== 'succeeded';
    if (decision !== undefined) {
      if (isTakenBack || !AFTER[decision]?.includes(after?.status ?? ''))
        say(
          `I16 run ${runKey(old)} was decided as ${decision}, and is ${isTakenBack ? 'taken back' : after?.status}`,
        );
    } else if (!isTakenBack && after?.status !== 'cancelled') {
      say(`I16 run ${runKey(old)} was made ${after?.status}, and nobody has decided that`);
    }
    if (move === 'update' && row?.status === 'running')
      say(`I16 run ${runKey(old)} was claimed while it was handed off`);
  }
  return wrong;
}

/** What holds once all is quiet: callers got true answers, and every decision is written. */
export function checkDecisions(events: readonly HistoryEvent[], calls: readonly DecisionCall[]): string[] {
  const last = new Map<string, HistoryRow>();
  for (const { place, new: row } of events) if (place === 'handOff' && row) last.set(noteKey(row), row);
  const wrong: string[] = [];
  for (const [key, row] of last)
    if (row.decided_at && row.handed_off_at && !row.written_at)
      wrong.push(`I16 the decision about run ${key} was never written`);
  const held = new Map<string, DecisionCall[]>();
  for (const call of calls) {
    const key = `${call.runId}:${call.fence}`;
    if (call.answer === true) held.set(key, [...(held.get(key) ?? []), call]);
    const decision = last.get(key)?.decision;
    if (call.answer === true && decision !== call.decision)
      wrong.push(`I15 ${call.decision} of run ${key} was accepted, and on record is ${decision}`);
  }
  for (const [key, accepted] of held)
    if (accepted.length > 1) wrong.push(`I15 ${accepted.length} decisions about run ${key} were accepted`);
  return wrong;
}

/** How many runs were handed off, and how many of those were decided. */
export function countHandOffs(events: readonly HistoryEvent[]): {
  readonly handedOff: number;
  readonly decided: number;
} {
  const rows = (test: (row: HistoryRow) => boolean) =>
    new Set(
      events.flatMap(({ place, new: row }) =>
        place === 'handOff' && row && test(row) ? [noteKey(row)] : [],
      ),
    ).size;
  return {
    handedOff: rows(row => Boolean(row.handed_off_at)),
    decided: rows(row => Boolean(row.handed_off_at && row.decided_at)),
  };
}
