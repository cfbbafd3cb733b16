// A tick with nothing to do: one statement, and one more where jobs have webhooks; and for how long there
// will be nothing to do. The rest of the engine is not loaded.

import type * as pg from 'pg';
import { processIdentity } from '../environment/process-identity.js';
import { WEBHOOK_PREFIX } from '../model/changes/changes-option.js';
import { webhooksOf } from '../model/changes/webhook.js';
import type { Clock } from '../model/clock.js';
import type { Registry } from '../model/job/registry.js';
import { keptText, type Retention } from '../model/planning/retention.js';
import { noOutcomes } from '../model/run/outcome-counts.js';
import type { AlertLimits } from '../store/alerts/conditions.js';
import type { Session } from '../store/connection/database.js';
import { queryWithin } from '../store/connection/deadline.js';
import { isConnectionFailure } from '../store/connection/errors.js';
import { inSchema } from '../store/connection/schema-name.js';
import { sharesOf } from '../store/connection/shares/pool-shares.js';
import { noteAsleep } from '../store/definitions/ticks.js';
import { areWebhooksDue } from '../store/reads/changes/webhooks.js';
import { askWhetherIdle, readNextWake } from '../store/reads/next-due.js';
import { MIGRATION_NAMES } from '../store/schema/migration-names.js';
import type { TickKind } from '../store/schema/tables.js';
import type { TickSummary } from './run-tick.js';

export interface IdleTickOptions {
  readonly clock: Clock;
  readonly session: Session;
  readonly registry: Registry;
  /** Whose jobs these are. */
  readonly service: string;
  /** What it keeps. */
  readonly retention: Retention | null;
  readonly queues: readonly string[] | undefined;
  /** What alerts ask about. Default: nothing. */
  readonly alerts?: AlertLimits | null;
  readonly kind: TickKind;
}

/** Statements over a pool, for who loads no more of the store. */
export const sessionOver = (
  pool: pg.Pool,
  { clock, schema, statementTimeoutMs }: SessionOptions,
): Session => ({
  run: async <Row>(text: string, values: readonly unknown[] = []) =>
    (await queryWithin(
      clock,
      () => sharesOf(pool).kept.acquire(statementTimeoutMs),
      { name: null, text: inSchema(text, schema) },
      values,
      statementTimeoutMs,
    )) as Row[],
});

interface SessionOptions {
  readonly clock: Clock;
  readonly schema: string;
  readonly statementTimeoutMs: number;
}

const NOTHING = {
  registered: { status: 'unchanged', added: [], changed: [], vanished: [] },
  reaped: { failed: 0, dead: 0, cancelled: 0 },
  materialized: { definitions: 0, runs: 0, skips: 0, broken: [] },
  stoppedEarly: false,
} as const;

/** Whether a tick found anything to do, or left anything. */
export const hasWorked = ({ registered, reaped, materialized, executed, stoppedEarly }: TickSummary) =>
  registered.status === 'registered' ||
  reaped.failed + reaped.dead + reaped.cancelled + materialized.runs + materialized.skips > 0 ||
  executed.claimed > 0 ||
  stoppedEarly;

/** The summary of a tick that asks nothing, because nothing is due before then. */
export const asleepTick = (asleepUntil: Date): TickSummary => ({
  ...NOTHING,
  executed: noOutcomes(),
  durationMs: 0,
  asleepUntil,
});

/**
 * Null if a full tick is due, or if the server refuses the question: then the full tick finds out why.
 * @throws when the database cannot be reached, because a full tick would only wait for it again
 */
export async function askIdleTick(options: IdleTickOptions): Promise<TickSummary | null> {
  const { clock, session, registry, queues = null, alerts = null } = options;
  // The full tick warns that there are no jobs.
  if (registry.definitions.length === 0) return null;
  const startedAt = clock.now();
  try {
    const webhooks = webhooksOf(registry).map(({ job }) => job);
    if (webhooks.length > 0 && (await areWebhooksDue(session, webhooks, WEBHOOK_PREFIX))) return null;
    const { fingerprint } = registry;
    const migrations = MIGRATION_NAMES;
    const ticker = {
      ...processIdentity(),
      kind: options.kind,
      service: options.service,
      fingerprint,
      keeps: keptText(options.retention),
    };
    if (!(await askWhetherIdle(session, { queues, migrations, alerts }, ticker))) return null;
  } catch (error) {
    if (isConnectionFailure(error)) throw error;
    return null;
  }
  return { ...NOTHING, executed: noOutcomes(), durationMs: Math.round(clock.now() - startedAt) };
}

/** A shorter sleep would only close connections and open them again. */
const LEAST_SLEEP_MS = 60_000;

/**
 * For how many milliseconds, `mostMs` at most, this process may send no statement; 0: not even for a minute.
 * Notes the tick, as {@link askIdleTick} does.
 * @throws when the database cannot be reached
 */
export async function askSleep(options: IdleTickOptions, mostMs: number): Promise<number> {
  const { session, alerts = null, queues = null, service: ownService } = options;
  const { host, folder } = processIdentity();
  const ms = Math.min(mostMs, await readNextWake(session, { host, folder, queues, ownService, alerts }));
  return ms >= LEAST_SLEEP_MS && (await askIdleTick(options)) !== null ? ms : 0;
}

/** Notes that this process sends no statement from now on, for `ms` milliseconds. */
export async function noteOwnSleep(
  { session, kind, service }: Pick<IdleTickOptions, 'session' | 'kind' | 'service'>,
  ms: number,
): Promise<void> {
  const { host, folder } = processIdentity();
  await noteAsleep.run(session, { host, folder, kind, service, ms });
}
