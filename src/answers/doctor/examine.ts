// The doctor: reads what each check needs, and lets the model decide. Changes nothing.

import { findZoneDisagreements } from '../../engine/definitions/zones/zone-data.js';
import type { Engine } from '../../engine/engine.js';
import { readSchedulerStatus } from '../../engine/execute/scheduler-view.js';
import { processIdentity } from '../../environment/process-identity.js';
import { webhookJobName, webhooksOf } from '../../model/changes/webhook.js';
import {
  type CheckCode,
  type CheckResult,
  type DoctorReport,
  resultOf,
  unknown,
  worstOf,
} from '../../model/doctor/check.js';
import {
  checkBroken,
  checkJobs,
  checkKeys,
  checkPaused,
  checkPruned,
  checkQueues,
  checkWaits,
} from '../../model/doctor/definition-checks.js';
import { checkReplication } from '../../model/doctor/replication.js';
import { checkIndexes, LARGE_INDEX_BYTES } from '../../model/doctor/schema-checks.js';
import {
  checkAutovacuum,
  checkListen,
  checkPooler,
  checkReadable,
  checkRights,
  checkSchema,
  checkUpkeep,
} from '../../model/doctor/server-checks.js';
import { checkSettings } from '../../model/doctor/settings.js';
import {
  checkClocks,
  checkDatabase,
  checkDeadRows,
  checkFreeze,
  checkLastTick,
  checkLeases,
  checkPartitions,
  checkRuns,
  checkSnapshots,
  checkVersions,
  checkZones,
} from '../../model/doctor/status-checks.js';
import { type Duration, parseDuration } from '../../model/duration.js';
import { URL_JOB } from '../../model/http/stored-request.js';
import { longestOf } from '../../model/planning/retention.js';
import type { Finding, ProblemLimits } from '../../model/problems.js';
import { redact } from '../../model/run/sanitize.js';
import type { SchedulerStatus } from '../../model/scheduler-view.js';
import { readClock } from '../../store/connection/clock.js';
import { isConnectionFailure, isForbidden } from '../../store/connection/errors.js';
import { hearOwnNotification } from '../../store/connection/listen.js';
import {
  readApplied,
  readBroken,
  readLimitedQueues,
  readOldestKey,
  readOrphanedRuns,
  readOrphans,
  readOutlastingWaits,
  readPaused,
  readPruned,
  readRoleRights,
  readServerFacts,
  readServerVersion,
  readSettings,
  readUpkeepKinds,
} from '../../store/reads/doctor.js';
import { MIGRATION_NAMES } from '../../store/schema/migration-names.js';
import { readDrift, readLargeIndexes, readSchemaTrouble } from '../../store/schema/schema-trouble.js';
import { readQueued } from './queued-definitions.js';

/** Options of `doctor`. */
export interface DoctorOptions {
  /** Thresholds, as those of `findProblems`. */
  readonly limits?: Partial<ProblemLimits>;
  /** How long prune keeps keys. Default: as long as processes keep them, or `400d`. */
  readonly keepKeys?: Duration;
}

interface Examination {
  readonly engine: Engine;
  readonly limits: Partial<ProblemLimits>;
  /** Null: as long as processes keep them. */
  readonly keepKeysMs: number | null;
  readonly schema: Finding;
  readonly clocks: () => ReturnType<typeof compareClocks>;
  readonly status: () => Promise<SchedulerStatus>;
  readonly facts: () => ReturnType<typeof readServerFacts>;
  readonly notification: () => ReturnType<typeof hearOwnNotification>;
}

type Check = (examination: Examination) => Promise<Finding> | Finding;
type StatusCheck = (status: SchedulerStatus, limits: Partial<ProblemLimits>) => Finding;

const byStatus =
  (check: StatusCheck): Check =>
  async ({ status, limits }) =>
    check(await status(), limits);

/** Checks that need no schema. */
const ANY_TIME: ReadonlySet<CheckCode> = new Set(['schema', 'versions', 'settings', 'pooler', 'rights']);

const CHECKS: readonly (readonly [CheckCode, Check])[] = [
  ['database', byStatus(checkDatabase)],
  ['last-tick', byStatus(checkLastTick)],
  ['freeze', byStatus(checkFreeze)],
  ['schema', async ({ engine, schema }) => (schema.level === 'ok' ? await upkeep(engine, schema) : schema)],
  ['versions', versions],
  [
    'rights',
    async ({ engine }) => {
      const rights = await readRoleRights(engine.database);
      return rights === null ? NOT_MIGRATED : checkRights(rights);
    },
  ],
  ['settings', async ({ engine }) => checkSettings(await readSettings(engine.database))],
  [
    'clock',
    async ({ clocks, status }) => {
      const { host, ownMs } = await clocks();
      return checkClocks(await status(), host, ownMs);
    },
  ],
  [
    'pooler',
    async ({ notification }) => {
      const { isPooled, heardMs } = await notification();
      return checkPooler(isPooled, heardMs !== null);
    },
  ],
  [
    'listen',
    async ({ notification, facts }) => checkListen({ ...(await facts()), ...(await notification()) }),
  ],
  ['partitions', byStatus(checkPartitions)],
  ['autovacuum', async ({ facts }) => checkAutovacuum(await facts())],
  ['indexes', async ({ engine }) => checkIndexes(await readLargeIndexes(engine.database, LARGE_INDEX_BYTES))],
  ['snapshots', byStatus(checkSnapshots)],
  ['dead-rows', byStatus(checkDeadRows)],
  ['jobs', jobs],
  ['broken', async ({ engine }) => checkBroken(await readBroken(engine.database))],
  ['paused', async ({ engine, status }) => checkPaused(await readPaused(engine.database), await status())],
  ['waits', async ({ engine }) => checkWaits(await readOutlastingWaits(engine.database))],
  ['runs', byStatus(checkRuns)],
  ['leases', byStatus(checkLeases)],
  ['keys', async examination => await retention(examination)],
  ['queues', queueLimits],
  ['replication', async ({ facts }) => checkReplication(await facts())],
  ['zones', zones],
];

/**
 * Checks that begin with the status, which reads all live runs. The others are carried out meanwhile, over
 * another connection.
 */
const OF_STATUS: ReadonlySet<CheckCode> = new Set([
  'database',
  'last-tick',
  'freeze',
  'versions',
  'clock',
  'partitions',
  'snapshots',
  'dead-rows',
  'runs',
  'leases',
]);

/**
 * Examines the scheduler. A check that fails to read what it needs is `unknown`, and the others go on. Sends
 * one notification, on a channel of its own.
 * @throws if the database cannot be reached; TockError TOCK_BAD_DURATION
 */
export async function examine(engine: Engine, options: DoctorOptions = {}): Promise<DoctorReport> {
  const { database } = engine;
  const keepKeysMs = options.keepKeys === undefined ? null : parseDuration(options.keepKeys, 'keepKeys');
  const schema = await examineSchema(engine);
  const isMigrated = schema.level !== 'failing';
  const examination: Examination = {
    engine,
    limits: options.limits ?? {},
    keepKeysMs,
    schema,
    clocks: once(() => compareClocks(database)),
    status: once(() => readSchedulerStatus(engine, { countsEnded: false, comparesZones: false })),
    facts: once(() => readServerFacts(database)),
    notification: once(() => hearOwnNotification(database)),
  };
  // First, and by itself: a statement that waits for a connection would look like a clock that is wrong.
  const at = isMigrated ? (await examination.clocks()).at : null;
  const found = new Map<CheckCode, Finding>();
  const inTurn = async (checks: typeof CHECKS) => {
    for (const [code, check] of checks) {
      const isPossible = isMigrated || ANY_TIME.has(code);
      found.set(code, isPossible ? await guarded(check, examination) : NOT_MIGRATED);
    }
  };
  await Promise.all([
    inTurn(CHECKS.filter(([code]) => OF_STATUS.has(code))),
    inTurn(CHECKS.filter(([code]) => !OF_STATUS.has(code))),
  ]);
  const checks = CHECKS.map(([code]): CheckResult => resultOf(code, found.get(code) ?? NOT_MIGRATED));
  return { at, level: worstOf(checks), checks };
}

const NOT_MIGRATED = unknown('not checked before the schema is migrated, and this role may read it');

async function guarded(check: Check, examination: Examination): Promise<Finding> {
  try {
    const found = await check(examination);
    return { ...found, command: inSchema(found.command, examination.engine.database.schema) };
  } catch (error) {
    if (isConnectionFailure(error)) throw error;
    const message = redact(error instanceof Error ? error.message : String(error));
    return unknown(`could not be checked: ${message.replace(/\s+/g, ' ')}`);
  }
}

/** Statements in commands are written for the schema `tock`, in a shell's double quotes. */
function inSchema(command: string | null, schema: string): string | null {
  if (command === null || schema === 'tock' || !command.startsWith('psql')) return command;
  const quoted = String.raw`\"${schema}\"`;
  return command
    .replaceAll(/(?<![\w"])tock\./g, `${quoted}.`)
    .replaceAll(/\bschema tock\b/g, `schema ${quoted}`);
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | null = null;
  return () => (reading ??= read());
}

async function examineSchema({ database }: Engine): Promise<Finding> {
  const rights = await readRoleRights(database);
  if (rights?.mayRead === false) return checkReadable(rights);
  const needed = MIGRATION_NAMES;
  const applied = (await readApplied(database)) ?? [];
  const { hidden, named } = await readSchemaTrouble(database);
  const missing = needed.filter(name => !applied.includes(name));
  return checkSchema({
    hidden,
    renamedFrom: named === database.schema ? null : named,
    missing,
    newer: applied.filter(name => !needed.includes(name)).sort(),
    drift: missing.length === 0 ? await readDrift(database) : [],
  });
}

async function upkeep({ database }: Engine, schema: Finding): Promise<Finding> {
  try {
    return checkUpkeep(await readUpkeepKinds(database)) ?? schema;
  } catch (error) {
    // That a right is missing, another check says.
    if (isForbidden(error)) return schema;
    throw error;
  }
}

/** Null before the schema is migrated. */
async function statusIfAny({ schema, status }: Examination): Promise<SchedulerStatus | null> {
  return schema.level === 'failing' ? null : await status();
}

async function versions(examination: Examination): Promise<Finding> {
  const server = await readServerVersion(examination.engine.database);
  const { version, node } = processIdentity();
  return checkVersions(await statusIfAny(examination), {
    tock: version,
    node,
    serverNumber: server.number,
    server: server.text,
  });
}

/** The host's clock is read before and after the server's; half of that time is the way of the question. */
async function compareClocks(database: Engine['database']) {
  const before = processIdentity();
  const at = await readClock(database);
  const after = processIdentity();
  return { at, host: before.host, ownMs: (before.hostMs + after.hostMs) / 2 - at.getTime() };
}

async function retention({ engine: { database }, keepKeysMs, clocks }: Examination): Promise<Finding> {
  const { at } = await clocks();
  const facts = await readPruned(database);
  const kept = longestOf((facts?.kept ?? []).filter(each => each !== false));
  const keys = checkKeys(await readOldestKey(database), at, keepKeysMs ?? kept?.keepKeysMs);
  if (facts === null || keys.level !== 'ok') return keys;
  const pruned = checkPruned(facts, at, { folder: processIdentity().folder, schema: database.schema });
  return pruned.level === 'ok' ? keys : pruned;
}

async function jobs({ engine: { database, registry, settings } }: Examination): Promise<Finding> {
  const names = [...registry.jobs.keys(), ...(registry.aliases?.keys() ?? [])];
  const known = [...names, URL_JOB, ...webhooksOf(registry).flatMap(each => each.names.map(webhookJobName))];
  return checkJobs({
    jobs: registry.jobs.size,
    definitions: names.length === 0 ? [] : await readOrphans(database, settings.service, known),
    runs: names.length === 0 ? [] : await readOrphanedRuns(database, settings.service, known),
  });
}

async function queueLimits({ engine: { database }, clocks }: Examination): Promise<Finding> {
  const limited = await readLimitedQueues(database);
  const { at } = await clocks();
  const names = limited.map(({ name }) => name);
  return checkQueues(limited, await readQueued(database, names, at.getTime()), at);
}

async function zones({ engine: { database }, clocks, status, limits }: Examination): Promise<Finding> {
  const zoneDisagreements = await findZoneDisagreements(database, (await clocks()).at.getTime());
  return checkZones({ ...(await status()), zoneDisagreements }, limits, processIdentity().zoneData);
}
