// What the audit keeps of an action: which targets, how many, and a small document of what was changed.
import type { Json } from './job/job.js';
import type { Action, Via } from './operator.js';

/** An action, as it is written with its effects. */
export interface AuditEntry {
  readonly action: Action;
  /** Names of definitions or queues, ids of runs. */
  readonly targets: readonly string[];
  /** How many were changed. Default: all targets. Nothing is written for 0. */
  readonly count?: number;
  /** Never a payload, an output or a secret. Default: nothing more is known. */
  readonly details?: Details;
  /**
   * Where one action takes several transactions: the id of its first row, once that is committed. All are
   * shown as one row, with the sum of their counts.
   */
  readonly partOf?: string | null;
}
/** Facts of an action by name. */
export type Details = Readonly<Record<string, Json | undefined>>;

/** Who did what, as the API and `--json` show it. */
export interface AuditRecord {
  readonly id: string;
  readonly at: Date;
  /** As their program named them. */
  readonly operator: string;
  readonly via: Via;
  /** One of {@link Action}, or one of a newer version. */
  readonly action: string;
  /** Names of definitions or queues, ids of runs; the first 100. */
  readonly targets: readonly string[];
  /** How many were changed. */
  readonly count: number;
  readonly details: Details;
  /** The role under which the database was asked, by the server's account. */
  readonly databaseRole: string;
}

/** Targets of one action that are named; all are counted. */
export const MAX_TARGETS = 100;
const MAX_VALUE = 500;
const MAX_DETAILS = 8000;

/** The details as JSON that PostgreSQL can store. If they are too long, the beginning of each. */
export function detailsText(details: Details): string {
  const text = JSON.stringify(details, storable);
  if (text.length <= MAX_DETAILS) return text;
  const short = Object.entries(details).map(([name, value]) => [name, shortened(value)] as const);
  return JSON.stringify(Object.fromEntries(short), storable);
}

function storable(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '').toWellFormed() : value;
}

/** What differs between two states of a record: `{ cron: { from: '0 3 * * *', to: '0 4 * * *' } }`. */
export function changesBetween(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Record<string, Json> {
  const changes: Record<string, Json> = {};
  for (const [name, to] of Object.entries(after)) {
    const from = before[name] ?? null;
    if (canonical(from) === canonical(to ?? null)) continue;
    changes[name] = name === 'payload' ? 'changed' : { from: shortened(from), to: shortened(to ?? null) };
  }
  return changes;
}

/** As JSON; keys in their own order, since jsonb does not keep that of the input. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

function shortened(value: unknown): Json {
  const text = JSON.stringify(value ?? null);
  if (text.length <= MAX_VALUE) return JSON.parse(text) as Json;
  return `${text.slice(0, MAX_VALUE).toWellFormed()}…`;
}
