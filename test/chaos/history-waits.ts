// I19, I20 and I22: runs that wait, and what they wait for.
// In: a history, with what handlers have noted. Out: where they do not hold, one line each.
//
// I19: a wait ends once, and its result never changes.
// I20: it ends, and a handler comes past it, only after what it was for; and waiting counts no attempt.
// I22: the join of a group is executed once, and only after its last member has ended; for success, has succeeded.
import { type HistoryEvent, type HistoryRow, ms, TOLERANCE_MS } from './history.js';

const resultOf = ({ outcome, result, ended_at }: HistoryRow) => JSON.stringify([outcome, result, ended_at]);

/** What holds at any moment. */
export function checkWaits(events: readonly HistoryEvent[]): string[] {
  const wrong: string[] = [];
  /** When the commits of transactions that commit late were sent, by their events. */
  const commits = new Map(
    events.flatMap(({ place, seq, new: row }) =>
      place === 'commit' ? [[String(row?.id), seq] as const] : [],
    ),
  );
  const emitted = new Map<string, HistoryRow>();
  /** Their states. */
  const ended = new Map<number, string | undefined>();
  const joined = new Set<number>();
  const waits = new Map<number, HistoryRow>();
  /** The last of each kind, by the run that waits. */
  const waitsOf = new Map<string, HistoryRow>();
  const keyOf = (run: number | undefined, kind: string | undefined) => `${run} ${kind}`;
  const awaited = new Map<number, Map<number, HistoryRow>>();

  /** What the wait is for has come to pass. */
  const checkEnd = (wait: HistoryRow, seq: number, say: (text: string) => void) => {
    const name = `wait ${wait.id} of run ${wait.run_id}`;
    if (wait.outcome === 'event') {
      const id = wait.result?.id ?? '';
      const event = emitted.get(id);
      if (event === undefined || (commits.get(id) ?? 0) > seq)
        return say(`I20 ${name} ended by event ${id}, which was not committed`);
      if (event.name !== wait.name || event.key !== wait.key || ms(event.created_at) < ms(wait.since))
        say(`I20 ${name} ended by event ${id}, which it was not for`);
    } else if (wait.outcome === 'ended') {
      for (const { run_id } of awaited.get(wait.id ?? 0)?.values() ?? [])
        if (!ended.has(run_id ?? 0)) say(`I20 ${name} ended before run ${run_id}`);
        else if (wait.needs_success && ended.get(run_id ?? 0) !== 'succeeded')
          say(`I22 ${name} ended for success, and run ${run_id} is ${ended.get(run_id ?? 0)}`);
    } else if (!(ms(wait.ended_at) + TOLERANCE_MS >= ms(wait.until))) {
      say(`I20 ${name} ended at ${wait.ended_at}, and lasts until ${wait.until}`);
    }
  };
  /** What a handler saw is what is on record. */
  const checkNote = (note: HistoryRow, say: (text: string) => void) => {
    const isOfParents = note.wait === 'parents';
    const wait = waitsOf.get(keyOf(note.run_id, isOfParents ? 'group' : note.wait));
    const name = `run ${note.run_id} came past its wait (${note.wait})`;
    if (!wait?.outcome) return say(`I20 ${name}, which is not over`);
    const statuses = [...(awaited.get(wait.id ?? 0) ?? [])]
      .toSorted(([one], [other]) => one - other)
      .map(([, row]) => row.status ?? 'nothing');
    const onRecord = {
      event: wait.outcome === 'timeout' ? 'timeout' : wait.result?.id,
      runs: statuses.join(),
      group: (isOfParents ? statuses.toSorted() : statuses).join(),
      sleep: 'time',
    };
    const due = onRecord[wait.kind as keyof typeof onRecord];
    if (note.saw !== due) say(`I19 ${name} with ${note.saw}, and on record is ${due}`);
  };

  const checkJoin = (
    place: 'live' | 'finished',
    old: HistoryRow | null,
    row: HistoryRow,
    say: (text: string) => void,
  ) => {
    const group = waitsOf.get(keyOf(row.id, 'group'));
    if (!group) return;
    if (place === 'live' && row.status === 'running' && old?.status !== 'running' && !group.outcome)
      say(`I22 join ${row.id} was claimed before its group had ended`);
    if (place !== 'finished' || row.status !== 'succeeded') return;
    if (joined.has(row.id ?? 0)) say(`I22 join ${row.id} succeeded twice`);
    joined.add(row.id ?? 0);
  };

  for (const { seq, place, move, old, new: row, app } of events) {
    const say = (text: string) => void wrong.push(`${text} (event ${seq} by ${app})`);
    if (place === 'event' && row) emitted.set(String(row.id), row);
    if (place === 'finished' && move === 'insert') ended.set(row?.id ?? 0, row?.status);
    if (row && (place === 'live' || place === 'finished')) checkJoin(place, old, row, say);
    if (place === 'note' && row) checkNote(row, say);
    if (place === 'wait' && row) {
      waits.set(row.id ?? 0, row);
      waitsOf.set(keyOf(row.run_id, row.kind), row);
      if (old?.outcome && resultOf(old) !== resultOf(row))
        say(`I19 wait ${row.id} ended as ${resultOf(old)}, and again as ${resultOf(row)}`);
      else if (row.outcome && !old?.outcome) checkEnd(row, seq, say);
    }
    if (place === 'awaited' && row) {
      const wait = row.wait_id ?? 0;
      if (old?.status && old.status !== row.status && waits.get(wait)?.outcome)
        say(`I19 run ${row.run_id} of wait ${wait} became ${row.status} after ${old.status}`);
      awaited.set(wait, (awaited.get(wait) ?? new Map()).set(row.position ?? 0, row));
    }
    if (place === 'live' && old?.status === 'running' && row?.status === 'queued') {
      const isReleased = row.releases !== old.releases;
      if (!isReleased && row.attempts !== (old.attempts ?? 0) - 1)
        say(`I20 run ${row.id} waits, and that counted as attempt ${row.attempts}`);
    }
  }
  return wrong;
}

/** How many waits ended, by how they did; and how often handlers came past one. */
export function countWaits(events: readonly HistoryEvent[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = { time: 0, timeout: 0, event: 0, ended: 0, passed: 0 };
  for (const { place, old, new: row } of events) {
    const what =
      place === 'note' ? 'passed' : place === 'wait' && !old?.outcome ? (row?.outcome ?? null) : null;
    if (what !== null) counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}
