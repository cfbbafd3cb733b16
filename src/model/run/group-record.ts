// A group as people see it: its join, and what has become of its members.
import type { ErrorGroup } from './errors/error-group.js';
import type { RunStatus } from './states.js';

/** The state of a member. `pruned`: retention has removed it, so its end is not known. */
export type MemberStatus = RunStatus | 'pruned';

/** In the order in which they are shown. */
export const MEMBER_STATUSES: readonly MemberStatus[] = [
  'queued',
  'running',
  'failed',
  'succeeded',
  'dead',
  'cancelled',
  'skipped',
  'pruned',
];

/** A member that took long, or takes long. */
export interface SlowMember {
  readonly id: string;
  readonly job: string;
  readonly status: RunStatus;
  /** Of its last attempt, which may last still. */
  readonly tookMs: number;
}

/** Members that are dead of the same error, but for what differs from run to run. */
export interface GroupError {
  readonly job: string;
  readonly error: ErrorGroup;
  readonly count: number;
  /** The member that had it last, and its message. */
  readonly lastId: string;
  readonly sample: string;
}

/** A group, as `tock.group` answers. */
export interface GroupRecord {
  /** Of its join. */
  readonly id: string;
  readonly job: string;
  readonly key: string | null;
  readonly status: RunStatus;
  /** What the join waits for: that all succeed, or that all end. */
  readonly on: 'success' | 'completion';
  readonly createdAt: Date;
  /** When the join could start; null: it waits. */
  readonly endedAt: Date | null;
  readonly count: number;
  /** How many members are in which state. */
  readonly states: Readonly<Record<MemberStatus, number>>;
  /** The first five members that the join waits for: those to end, or else those that did not succeed. */
  readonly waitsFor: readonly { readonly id: string; readonly status: MemberStatus }[];
  /** The five that took longest or run longest, the slowest first. */
  readonly slowest: readonly SlowMember[];
  /** Of the dead members, the most frequent error first. */
  readonly errors: readonly GroupError[];
}

/** How many members have ended. */
export const endedOf = ({ count, states: { queued, running, failed } }: GroupRecord): number =>
  count - queued - running - failed;

/** How many members have ended without success. */
export const unsuccessfulOf = ({ states: { dead, cancelled, skipped, pruned } }: GroupRecord): number =>
  dead + cancelled + skipped + pruned;

/** `waits for 12 of 500 runs`; `3 did not succeed: retry them, or continue the group`. */
export function groupSentence(group: GroupRecord): string {
  const { count, on, endedAt, status } = group;
  const left = count - endedOf(group);
  const failed = unsuccessfulOf(group);
  const all = count === 1 ? 'its run' : `all ${count.toLocaleString('en')} runs`;
  if (endedAt !== null)
    return failed === 0 ? `${all} succeeded` : `${all} have ended, ${said(failed)} without success`;
  if (status !== 'queued') return `its join is ${status}, and waits no longer`;
  if (left > 0)
    return `${said(left)} of ${said(count)} still to end${failed > 0 && on === 'success' ? `; ${said(failed)} did not succeed` : ''}`;
  if (failed > 0 && on === 'success')
    return `${said(failed)} of ${said(count)} did not succeed: retry them, or continue the group`;
  return `${all} have ended; the join is about to start`;
}

const said = (count: number) => count.toLocaleString('en');

/** What an act on all members did. */
export interface GroupActed {
  /** How many were retried or cancelled, the join among them. */
  readonly done: number;
  /** Running members, whose handlers are asked to stop. */
  readonly asked: number;
  /** Members that could not be retried. */
  readonly failed: readonly { readonly id: string; readonly code: string; readonly message: string }[];
}
