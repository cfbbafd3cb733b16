// What a check of the doctor finds.
import {
  type Finding,
  findProblems,
  type HealthLevel,
  type ProblemCode,
  type ProblemLimits,
  worstFirst,
} from '../problems.js';
import type { SchedulerStatus } from '../scheduler-view.js';

/** Which check it is; scripts may rely on it. */
export type CheckCode =
  | 'database'
  | 'crontab'
  | 'last-tick'
  | 'freeze'
  | 'schema'
  | 'versions'
  | 'rights'
  | 'settings'
  | 'clock'
  | 'pooler'
  | 'listen'
  | 'partitions'
  | 'autovacuum'
  | 'indexes'
  | 'snapshots'
  | 'dead-rows'
  | 'jobs'
  | 'broken'
  | 'paused'
  | 'waits'
  | 'runs'
  | 'leases'
  | 'keys'
  | 'queues'
  | 'replication'
  | 'zones';

/** A finding with its check. */
export interface CheckResult extends Finding {
  readonly code: CheckCode;
  /** What is checked, in a few words. */
  readonly title: string;
}

/** All checks, in a fixed order. */
export interface DoctorReport {
  /** The database's time; null before the schema is migrated. */
  readonly at: Date | null;
  /** The worst of the checks; those that could not be checked do not count. */
  readonly level: Exclude<HealthLevel, 'unknown'>;
  readonly checks: readonly CheckResult[];
}

export const TITLES: Readonly<Record<CheckCode, string>> = {
  database: 'database',
  crontab: 'crontab',
  'last-tick': 'last tick',
  freeze: 'freeze',
  schema: 'schema',
  versions: 'versions',
  rights: 'rights',
  settings: 'settings',
  clock: 'clocks',
  pooler: 'pooler',
  listen: 'notifications',
  partitions: 'partitions',
  autovacuum: 'autovacuum',
  indexes: 'indexes',
  snapshots: 'snapshots',
  'dead-rows': 'dead rows',
  jobs: 'jobs in code',
  broken: 'broken',
  paused: 'paused',
  waits: 'waits',
  runs: 'runs',
  leases: 'leases',
  keys: 'retention',
  queues: 'queue limits',
  replication: 'replication',
  zones: 'time zones',
};

export const fine = (text: string): Finding => ({ level: 'ok', text, remedy: null, command: null });

export const unknown = (text: string): Finding => ({ level: 'unknown', text, remedy: null, command: null });

export const wrong = (
  level: 'warning' | 'failing',
  text: string,
  remedy: string,
  command: string | null = null,
): Finding => ({ level, text, remedy, command });

export const resultOf = (code: CheckCode, finding: Finding): CheckResult => ({
  code,
  title: TITLES[code],
  ...finding,
});

/** The worst of the findings that are known. */
export function worstOf(findings: readonly Finding[]): DoctorReport['level'] {
  const levels = findings.map(({ level }) => level);
  if (levels.includes('failing')) return 'failing';
  return levels.includes('warning') ? 'warning' : 'ok';
}

/** Several findings as one: the worst first, with its remedy and command. */
export function joined(findings: readonly Finding[], otherwise: string): Finding {
  const found = worstFirst(findings);
  const [worst] = found;
  if (worst === undefined) return fine(otherwise);
  return { ...worst, text: found.map(({ text }) => text).join('; ') };
}

/** A check whose result is already part of a status. */
export function fromStatus(
  status: SchedulerStatus,
  limits: Partial<ProblemLimits>,
  codes: readonly ProblemCode[],
  otherwise: string,
): Finding {
  const problems = findProblems(status, limits).filter(({ code }) => codes.includes(code));
  const { level, text, remedy, command } = joined(problems, otherwise);
  return { level, text, remedy, command };
}
