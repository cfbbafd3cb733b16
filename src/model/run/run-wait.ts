// What a run waits for whose handler has ended to wait, as people see it.
import { formatSpan } from '../duration.js';
import type { RunStatus } from './states.js';

/** How a run waits: by a Snooze, or by `ctx.sleep`. */
export type WaitKind = 'snooze' | 'sleep';

/** Why a wait is over. */
export type WaitOutcome = 'time';

/** A wait of a run; of its snoozes, the last. */
export interface RunWait {
  readonly kind: WaitKind;
  /** Its name in the handler; empty for a snooze. */
  readonly name: string;
  readonly since: Date;
  /** When the run goes on; null: not at a time. */
  readonly until: Date | null;
  /** Of a snooze, as its handler has said. */
  readonly reason: string | null;
  /** Null: it lasts. A snooze ends when its handler is called again, which is not on record. */
  readonly outcome: WaitOutcome | null;
  readonly endedAt: Date | null;
}

interface WaitingRun {
  readonly status: RunStatus;
  readonly waits: readonly RunWait[];
}

/** The wait that a run is in; undefined: its handler waits for nothing. */
export function currentWait({ status, waits }: WaitingRun, now: Date): RunWait | undefined {
  if (status !== 'queued') return undefined;
  return waits.findLast(({ outcome, until }) => outcome === null && (until === null || until > now));
}

/** The reason of a snooze, `the export is not ready`; of another wait its name, `trial`. */
export const waitWords = ({ kind, name, reason }: RunWait) =>
  kind === 'snooze' ? (reason ?? 'snoozed') : name;

/** `4m more: the export is not ready; snoozed 3 times`. */
export function waitText(wait: RunWait, snoozes: number, now: Date): string {
  const more = wait.until === null ? '' : `${formatSpan(wait.until.getTime() - now.getTime())} more: `;
  const times = snoozes === 1 ? 'snoozed once' : `snoozed ${snoozes} times`;
  return `${more}${waitWords(wait)}${wait.kind === 'snooze' ? `; ${times}` : ''}`;
}
