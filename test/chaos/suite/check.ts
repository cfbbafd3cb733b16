// What it all came to: the history, the notes of the clients and the tables, put together.
// In: a database in which all is quiet. Out: figures, and what is wrong, a line each, beginning with the invariant.
import { type FinalState, type HistoryEvent, readFinal, readHistory } from '../history.js';
import { checkFinal, countOccurrences } from '../history-check.js';
import { checkFair } from '../history-fair.js';
import { checkDecisions, countHandOffs, type DecisionCall } from '../history-hand-offs.js';
import { checkLimits } from '../history-limits.js';
import { countWaits } from '../history-waits.js';
import { findDoubledChildren } from '../waits.js';
import type { Note } from './clients.js';
import { checkFamilies, type Family } from './families.js';
import { EXPECTED, LIMITS, RATES } from './load.js';
import type { Query } from './stage.js';
import * as sql from './statements.js';

export type Figures = Awaited<ReturnType<typeof checkAll>>['figures'];

/** Reads and checks everything. */
export async function checkAll(
  query: Query,
  notes: readonly Note[],
  decisions: readonly DecisionCall[],
  continued: ReadonlySet<number>,
) {
  const events = await readHistory(query);
  const final = await readFinal(query);
  const limits = checkLimits(events, LIMITS);
  const fair = checkFair(events, RATES);
  const there = await readWishes(query);
  const contradictions: string[] = [];
  for (const text of sql.CONTRADICTIONS)
    contradictions.push(...(await query<{ text: string }>(text)).map(row => row.text));
  const families = checkFamilies(events, await readFamilies(query, notes, there), continued);
  const [packed = { attempts: 0, together: 0, most: 0 }] = await query<{
    attempts: number;
    together: number;
    most: number;
  }>(sql.PACKED);
  const wrong: string[] = [
    ...checkFinal(events, final, EXPECTED),
    ...checkDecisions(events, decisions),
    ...limits.wrong,
    ...fair.wrong,
    ...checkWishes(notes, there),
    ...families.wrong,
    ...contradictions,
    ...(await findDoubledChildren(query)),
  ];
  const occurrences = countOccurrences(events, EXPECTED);
  const unknown = notesByWish(notes).filter(each => each.told === 'unknown');
  const highest = (prefix: string) =>
    Math.max(0, ...[...limits.highest].filter(([key]) => key.startsWith(prefix)).map(([, count]) => count));
  const effectCounts = [...final.onceEffects, ...final.transactionEffects].map(each => each.count);
  return {
    wrong,
    figures: {
      asked: notesByWish(notes).length,
      confirmed: notesByWish(notes).filter(each => each.told === 'ok').length,
      refused: notesByWish(notes).filter(each => each.told === 'fail').length,
      /** Nobody knows, until the table is looked at. */
      unknown: unknown.length,
      unknownButThere: unknown.filter(each => there.has(each.wanted.n)).length,
      statuses: Object.fromEntries(
        (await query<{ status: string; count: number }>(sql.STATUSES)).map(row => [row.status, row.count]),
      ),
      events: events.length,
      attempts: events.filter(isClaim).length,
      reaped: events.filter(isReaping).length,
      lost: countLost(wrong, final),
      doubledOutcomes: wrong.filter(line => line.startsWith('I4')).length,
      doubledEffects: effectCounts.filter(count => count > 1).length,
      effects: effectCounts.length,
      occurrencesExpected: occurrences.expected,
      occurrencesFound: occurrences.found,
      highestUnderKey: highest('job:limited/'),
      highestInQueue: highest('queue:'),
      fairStarts: fair.starts,
      ...countHandOffs(events),
      /** How many, by how they ended; `passed`: how often handlers came past one. */
      waitsEnded: countWaits(events),
      families: families.counts,
      /** Attempts of a job with `batch`; how many were made with others, and with how many at most. */
      packed,
      /** Calls of the other side that came too late, or under another fence. */
      lateCalls: decisions.filter(({ answer }) => answer === false).length,
    },
  };
}

/** Runs that were confirmed and are not there, that are gone, or that never ended; each once. */
function countLost(wrong: readonly string[], final: FinalState): number {
  const ids = wrong.flatMap(line => /run (\d+)(?:, and is lost| is gone)$/.exec(line)?.[1] ?? []);
  return new Set([...ids, ...final.live]).size;
}

/** A wish that was asked for several times counts as the best that was said. */
function notesByWish(notes: readonly Note[]): Note[] {
  const rank = { ok: 0, fail: 1, unknown: 2 };
  const best = new Map<number, Note>();
  for (const note of notes) {
    const known = best.get(note.wanted.n);
    if (known === undefined || rank[note.told] < rank[known.told]) best.set(note.wanted.n, note);
  }
  return [...best.values()];
}

/** I10, by the wish in the payload: also for runs without a key. And what was asked for in one statement comes as one. */
export function checkWishes(notes: readonly Note[], there: ReadonlyMap<number, readonly string[]>): string[] {
  const wrong: string[] = [];
  const calls = new Map<number, Note[]>();
  const confirmed = new Set(notes.flatMap(({ wanted, told }) => (told === 'ok' ? [wanted.n] : [])));
  for (const note of notes) {
    const { wanted, told, runId, call } = note;
    const ids = there.get(wanted.n) ?? [];
    const name = `wish ${wanted.n} of ${wanted.job}${wanted.key === null ? '' : ` with ${wanted.key}`}`;
    calls.set(call, [...(calls.get(call) ?? []), note]);
    if (ids.length > 1) wrong.push(`I10 ${name} gave ${ids.length} runs: ${ids.join(', ')}`);
    if (told === 'ok' && ids.length === 0)
      wrong.push(`I10 ${name} was confirmed as run ${runId}, and is lost`);
    if (told === 'ok' && runId !== null && ids.length > 0 && !ids.includes(runId))
      wrong.push(`I10 ${name} was confirmed as run ${runId}, and run ${ids[0]} is there`);
    if (told === 'fail' && ids.length > 0) wrong.push(`I10 ${name} was refused, and run ${ids[0]} is there`);
  }
  for (const list of calls.values()) {
    if (list.some(each => confirmed.has(each.wanted.n))) continue;
    const found = list.filter(each => there.has(each.wanted.n)).length;
    if (found !== 0 && found !== list.length)
      wrong.push(
        `I10 ${found} of ${list.length} runs of one statement are there (wish ${list[0]?.wanted.n})`,
      );
  }
  return [...new Set(wrong)];
}

/** Which runs wait for which, as it was asked for; and for the children that members have added to their group. */
async function readFamilies(
  query: Query,
  notes: readonly Note[],
  there: ReadonlyMap<number, readonly string[]>,
): Promise<Family[]> {
  const added = new Map<string, string[]>();
  for (const { id, parent } of await query<{ id: string; parent: string }>(sql.CHILDREN))
    added.set(parent, [...(added.get(parent) ?? []), id]);
  return notes.flatMap(({ wanted: { n, job, after }, older }): Family[] => {
    const [child] = there.get(n) ?? [];
    if (after === undefined || child === undefined) return [];
    const asked = after.parents.flatMap(each => there.get(each) ?? []);
    const parents = [...asked, ...(job === 'joins' ? asked.flatMap(id => added.get(id) ?? []) : [])];
    return [
      {
        name: `run ${child} of ${job}`,
        child: Number(child),
        parents: [...parents, ...(older === null ? [] : [older])].map(Number),
        ifParentFails: after.ifParentFails,
      },
    ];
  });
}

async function readWishes(query: Query): Promise<Map<number, string[]>> {
  const there = new Map<number, string[]>();
  for (const { id, n } of await query<{ id: string; n: number }>(sql.RUNS_BY_WISH))
    there.set(n, [...(there.get(n) ?? []), id]);
  return there;
}

const isClaim = ({ place, old, new: row }: HistoryEvent) =>
  place === 'live' && row?.status === 'running' && old?.status !== 'running';
const isReaping = ({ place, move, old, new: row }: HistoryEvent) =>
  row?.errors?.at(-1)?.code === 'TOCK_LEASE_LOST' &&
  ((place === 'live' && move === 'update' && old?.status === 'running' && row.status !== 'running') ||
    (place === 'finished' && move === 'insert' && row.status === 'dead'));
