// A flow as people see it: its runs, those that each comes after, and the critical path.
import type { MemberStatus } from '../run/group-record.js';

/** A run of a flow, as `tock.flow` answers. */
export interface FlowRunRecord {
  readonly id: string;
  /** Its name in the flow, as its children have it; null for one that nothing comes after. */
  readonly name: string | null;
  /** Null: retention has removed it. */
  readonly job: string | null;
  readonly status: MemberStatus;
  /** When its last attempt began. */
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  /** The ids of its parents. */
  readonly after: readonly string[];
}

/** A flow, as `tock.flow` answers. */
export interface FlowRecord {
  /** Parents before their children. At most 300. */
  readonly runs: readonly FlowRunRecord[];
  /** There are more runs, which are not in `runs`. */
  readonly isCut: boolean;
  /**
   * The ids of the runs that decided when the flow ended, or decide it now, in their order: from the last run
   * back, each time to the parent that ended last, or has not ended.
   */
  readonly criticalPath: readonly string[];
}

const isOpen = ({ endedAt, status }: FlowRunRecord) => endedAt === null && status !== 'pruned';

/** How late a run ended, to compare: one that has not ended is later than all; one that runs, than those. */
function latenessOf(run: FlowRunRecord): number {
  if (!isOpen(run)) return run.endedAt?.getTime() ?? 0;
  return Number.MAX_VALUE / (run.status === 'running' ? 1 : 2);
}

const latest = (runs: readonly FlowRunRecord[]): FlowRunRecord | undefined =>
  runs.reduce<FlowRunRecord | undefined>(
    (last, run) => (last === undefined || latenessOf(run) > latenessOf(last) ? run : last),
    undefined,
  );

/** See {@link FlowRecord.criticalPath}. */
export function criticalPathOf(runs: readonly FlowRunRecord[]): string[] {
  const byId = new Map(runs.map(run => [run.id, run]));
  const parents = new Set(runs.flatMap(({ after }) => after));
  const path: string[] = [];
  let next = latest(runs.filter(({ id }) => !parents.has(id)));
  while (next !== undefined && !path.includes(next.id)) {
    path.unshift(next.id);
    next = latest(next.after.flatMap(id => byId.get(id) ?? []));
  }
  return path;
}

/**
 * The runs in columns: each to the right of all its parents, and near their height.
 * A run whose parents are not among `runs` is in the first.
 */
export function columnsOf<Run extends Pick<FlowRunRecord, 'id' | 'after'>>(runs: readonly Run[]): Run[][] {
  const byId = new Map(runs.map(run => [run.id, run]));
  const depths = new Map<string, number>();
  // Without recursion: a flow may be a chain of hundreds.
  for (const root of runs) {
    const stack = [root];
    for (let run = stack.at(-1); run !== undefined; run = stack.at(-1)) {
      const mine = run.after.flatMap(id => byId.get(id) ?? []);
      const open = mine.filter(({ id }) => !depths.has(id) && !stack.some(each => each.id === id));
      if (open.length === 0 || depths.has(run.id)) {
        depths.set(run.id, Math.max(0, ...mine.map(({ id }) => (depths.get(id) ?? -1) + 1)));
        stack.pop();
      } else stack.push(...open);
    }
  }
  const columns: Run[][] = [];
  for (const run of runs) (columns[depths.get(run.id) ?? 0] ??= []).push(run);
  const heights = new Map<string, number>();
  return columns.map(column => {
    const heightOf = ({ after }: Run) => {
      const known = after.flatMap(id => heights.get(id) ?? []);
      return known.length === 0 ? 0 : known.reduce((sum, height) => sum + height, 0) / known.length;
    };
    const sorted = column.toSorted((a, b) => heightOf(a) - heightOf(b) || Number(a.id) - Number(b.id));
    for (const [place, { id }] of sorted.entries()) heights.set(id, (place + 0.5) / sorted.length);
    return sorted;
  });
}

/** What a run is called: its name in the flow, else its job. */
export const flowNameOf = ({ id, name, job }: FlowRunRecord): string =>
  name !== null && name !== id ? name : (job ?? `run ${id}`);
