// The invariant: no run that is due and free is passed over by two complete questions of a worker that has room. And whoever
// lives asks; but not all the time.
// In: a history of runs, queues and slots, and when each worker asked. Out: which runs were passed over, and by whom.
//
// A complete question is a poll and the claim that follows it. So a run was passed over by two if it was due and free at a
// worker's poll, and still waits at its next poll but one:
//
//   poll 1           claim           poll 2           claim           poll 3
//   the run is       passes it       again            passes it       the run has not
//   due and free     over                             over            changed since poll 1
//
// After a poll, a worker that was told of a run may claim in the lane of that run first: then the question is not complete.
// What a poll must see is what its snapshot shows. What may be in the way of a claim counts from the beginning of its transaction,
// which may hold locks from then on. So whether a run is passed over does not depend on how long anything takes.

/** The snapshot of a statement, as `pg_current_snapshot()` gives it. */
export interface Snapshot {
  /** All below have ended. */
  readonly xmin: bigint;
  /** All from this one on have not. */
  readonly xmax: bigint;
  /** Of those between, the ones that have not. */
  readonly underWay: ReadonlySet<bigint>;
}

/** A live run, without what nobody asks for. */
export interface RunRow {
  readonly job: string;
  readonly queue: string;
  readonly status: string;
  readonly blockedOn: string | null;
  /** In milliseconds since 1970, as all times here. */
  readonly runAt: number;
  readonly lockedBy: string | null;
}
export interface QueueRow {
  readonly isPaused: boolean;
  readonly concurrency: number | null;
}

/** A row as it became; null: it is gone. The changes of one row are in their order. */
export type Change = {
  /** The transaction that wrote it, and committed. */
  readonly xid: bigint;
  /** When that began. */
  readonly at: number;
  /** The process that wrote it. */
  readonly app: string;
} & (
  | { readonly place: 'run'; readonly id: string; readonly row: RunRow | null }
  | { readonly place: 'queue'; readonly id: string; readonly row: QueueRow | null }
  /** A slot that is held; `id`: its key and number. */
  | { readonly place: 'slot'; readonly id: string; readonly row: { readonly key: string } | null }
);

/** A poll is about to be sent. */
interface Question {
  readonly at: number;
  readonly snapshot: Snapshot;
  /** It leaves out what lies below watermarks; or until the next one, its worker claims in some lanes alone. */
  readonly isPartial: boolean;
}

/** What the process of a daemon tells: who it is, that it polls, and that it claims. */
export type Said =
  | { readonly worker: string }
  | { readonly at: number; readonly snapshot: string; readonly isComplete: boolean }
  | { readonly claims: 'everywhere' | 'some' };

export interface Asker {
  /** The name of its process, and the id of its worker. */
  readonly app: string;
  readonly id: string;
  readonly concurrency: number;
  readonly jobs: readonly string[];
  readonly questions: readonly Question[];
  /** When it was asked to end, or killed; null: never. */
  readonly endedAt: number | null;
}

/** The questions in what a process has told. */
export function readQuestions(said: readonly Said[]): Question[] {
  const polls = said.flatMap((each, index) => ('at' in each ? [{ ...each, index }] : []));
  return polls.map(({ at, snapshot, isComplete, index }, number) => {
    const until = said.slice(index, polls[number + 1]?.index);
    const claims = until.flatMap(each => ('claims' in each ? [each.claims] : []));
    const isPartial = !isComplete || (claims.includes('some') && !claims.includes('everywhere'));
    return { at, snapshot: readSnapshot(snapshot), isPartial };
  });
}

export interface Judged {
  /** A line for each run and worker. */
  readonly wrong: readonly string[];
  /** How often a worker with room could have passed a run over twice: three questions in a row. */
  readonly chances: number;
}

/** Locks that leave no trace last no longer, such as those of an admission that begins anew. */
const APART_MS = 25;
/** Three times as long as a daemon sleeps at most. */
const MUTE_MS = 15_000;
/** Pauses between questions that find nothing new double: so many do not come in so short a time. */
const OFTEN = 20;
const OFTEN_MS = 2000;

const isSeen = ({ xmin, xmax, underWay }: Snapshot, xid: bigint) =>
  xid < xmin || (xid < xmax && !underWay.has(xid));

/** Reads what `pg_current_snapshot()` gives as text. */
function readSnapshot(text: string): Snapshot {
  const [xmin = '0', xmax = '0', list = ''] = text.split(':');
  return {
    xmin: BigInt(xmin),
    xmax: BigInt(xmax),
    underWay: new Set(list === '' ? [] : list.split(',').map(BigInt)),
  };
}

/** @param until the end of the history */
export function judge(changes: readonly Change[], askers: readonly Asker[], until: number): Judged {
  const wrong = new Set<string>();
  let chances = 0;
  for (const asker of askers) {
    const { app, concurrency, questions, endedAt } = asker;
    for (const first of questions) {
      // Both must be complete, and the claim of the second is over when the next poll is sent.
      const second = questions.find(each => !each.isPartial && each.at >= first.at + APART_MS);
      const last = second && questions.find(each => each.at >= second.at + APART_MS);
      if (first.isPartial || last === undefined) continue;
      const span = spanOf(changes, first, last.at);
      if (span.most(held(asker)) >= concurrency) continue;
      chances++;
      for (const [id, row] of span.unchanged) {
        if (isFree(row, first.at, asker, span))
          wrong.add(
            `run ${id} of ${row.job} in ${row.queue} (${row.blockedOn ?? row.status}) is passed over by ${app}, which has room`,
          );
      }
    }
    if (asksAllTheTime(changes, questions)) wrong.add(`${app} asks all the time, and nothing changes`);
    const muteMs = until - (questions.at(-1)?.at ?? until);
    if (endedAt === null && muteMs > MUTE_MS) wrong.add(`${app} has not asked for ${Math.round(muteMs)} ms`);
  }
  return { wrong: [...wrong], chances };
}

const asksAllTheTime = (changes: readonly Change[], questions: readonly Question[]) =>
  questions.some((first, index) => {
    const last = questions[index + OFTEN - 1];
    if (last === undefined || last.at - first.at > OFTEN_MS) return false;
    const isNews = ({ at, xid }: Change) =>
      (at >= first.at && at <= last.at) || (!isSeen(first.snapshot, xid) && isSeen(last.snapshot, xid));
    return !changes.some(isNews);
  });

/** From a question until an instant: what did not change, and how much there was of something at once. */
interface Span {
  readonly unchanged: ReadonlyMap<string, RunRow>;
  /** The most rows at once that count, at any time of the span. */
  readonly most: (counts: Counts) => number;
  /** All states of a queue. */
  readonly queues: (name: string) => readonly QueueRow[];
}
/** Whether a row counts, after a change of it. @param counted whether it counted before */
type Counts = (change: Change, counted: boolean) => boolean;

function spanOf(changes: readonly Change[], { snapshot }: Question, until: number): Span {
  const before = changes.filter(each => isSeen(snapshot, each.xid));
  const since = changes.filter(each => !isSeen(snapshot, each.xid) && each.at <= until);
  const unchanged = new Map<string, RunRow>();
  for (const { place, id, row } of before) {
    if (place !== 'run') continue;
    if (row === null) unchanged.delete(id);
    else unchanged.set(id, row);
  }
  for (const { place, id } of since) if (place === 'run') unchanged.delete(id);
  return {
    unchanged,
    most(counts) {
      const counted = new Set<string>();
      const apply = (change: Change) => {
        const name = `${change.place} ${change.id}`;
        if (counts(change, counted.has(name))) counted.add(name);
        else counted.delete(name);
      };
      for (const change of before) apply(change);
      let most = counted.size;
      for (const change of since) {
        apply(change);
        most = Math.max(most, counted.size);
      }
      return most;
    },
    queues(name) {
      const of = (list: readonly Change[]) =>
        list.flatMap(({ place, id, row }) => (place === 'queue' && id === name && row !== null ? [row] : []));
      return [...of(before).slice(-1), ...of(since)];
    },
  };
}

/** The runs of a worker. One that others took away may be executing there still. */
const held =
  ({ app, id }: Asker): Counts =>
  (change, counted) =>
    change.place === 'run' && (change.row?.lockedBy === id || (counted && change.app !== app));

const slotsOf =
  (key: string): Counts =>
  ({ place, row }) =>
    place === 'slot' && row?.key === key;

/** Whether a poll must find the run, and the claim after it take or block it. */
function isFree(row: RunRow, at: number, { jobs }: Asker, span: Span): boolean {
  if (row.runAt > at || !['queued', 'failed'].includes(row.status)) return false;
  const queues = span.queues(row.queue);
  if (queues.some(each => each.isPaused)) return false;
  const hasSlots = (key: string, limit: number) => span.most(slotsOf(key)) < limit;
  if (queues.some(each => each.concurrency !== null && !hasSlots(`queue:${row.queue}`, each.concurrency)))
    return false;
  // Whoever does not know its job gives it back, to wait for code.
  if (row.blockedOn === null) return true;
  return row.blockedOn === `code:${row.job}` && jobs.includes(row.job);
}
