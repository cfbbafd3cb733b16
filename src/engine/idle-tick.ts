// A tick with nothing to do: one statement, and one more where jobs have webhooks. The rest of the engine is
// not loaded.

import type * as pg from 'pg';
import { processIdentity } from '../environment/process-identity.js';
import { WEBHOOK_PREFIX } from '../model/changes/changes-option.js';
import { webhooksOf } from '../model/changes/webhook.js';
import type { Clock } from '../model/clock.js';
import type { Registry } from '../model/job/registry.js';
import { keptText, type Retention } from '../model/planning/retention.js';
import { noOutcomes } from '../model/run/outcome-counts.js';
import type { AlertLimits } from '../store/alerts/conditions.js';
import { queryWithin } from '../store/connection/deadline.js';
import { isConnectionFailure } from '../store/connection/errors.js';
import { inSchema } from '../store/connection/schema-name.js';
import { sharesOf } from '../store/connection/shares/pool-shares.js';
import { areWebhooksDue } from '../store/reads/changes/webhooks.js';
import { askWhetherIdle } from '../store/reads/next-due.js';
import { MIGRATION_NAMES } from '../store/schema/migration-names.js';
import type { TickKind } from '../store/schema/tables.js';
import type { TickSummary } from './run-tick.js';

export interface IdleTickOptions {
  readonly clock: Clock;
  readonly pool: pg.Pool;
  readonly schema: string;
  readonly registry: Registry;
  /** Whose jobs these are. */
  readonly service: string;
  /** What it keeps. */
  readonly retention: Retention | null;
  readonly queues: readonly string[] | undefined;
  /** What alerts ask about. Default: nothing. */
  readonly alerts?: AlertLimits | null;
  readonly statementTimeoutMs: number;
  readonly kind: TickKind;
}

const NOTHING = {
  registered: { status: 'unchanged', added: [], changed: [], vanished: [] },
  reaped: { failed: 0, dead: 0, cancelled: 0 },
  materialized: { definitions: 0, runs: 0, skips: 0, broken: [] },
  stoppedEarly: false,
} as const;

/**
 * Null if a full tick is due, or if the server refuses the question: then the full tick finds out why.
 * @throws when the database cannot be reached, because a full tick would only wait for it again
 */
export async function askIdleTick(options: IdleTickOptions): Promise<TickSummary | null> {
  const { clock, pool, schema, registry, queues = null, alerts = null, statementTimeoutMs } = options;
  // The full tick warns that there are no jobs.
  if (registry.definitions.length === 0) return null;
  const startedAt = clock.now();
  const session = {
    run: async <Row>(text: string, values: readonly unknown[] = []) =>
      (await queryWithin(
        clock,
        () => sharesOf(pool).kept.acquire(statementTimeoutMs),
        { name: null, text: inSchema(text, schema) },
        values,
        statementTimeoutMs,
      )) as Row[],
  };
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
