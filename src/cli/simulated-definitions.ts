// The definitions that `tock simulate` uses, from code and from the database.
import { existsSync } from 'node:fs';
import { TockError, type TockErrorCode } from '../model/errors.js';
import type { AnyJob } from '../model/job/job.js';
import { quote } from '../model/names.js';
import { didYouMean } from '../model/nearest.js';
import { describeDefinition } from '../model/planning/definition.js';
import { chainOfJob, scheduleOfRecord } from '../model/planning/schedule-words.js';
import { reasonNotSimulated, type SimulatedDefinition } from '../model/planning/simulate.js';
import type { DefinitionRecord } from '../store/reads/runs.js';
import { jobsInCode } from './jobs-in-code.js';
import { type Shell, withTock } from './shell.js';

export interface Simulated {
  readonly definitions: readonly SimulatedDefinition[];
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
}

/** After one of these errors, the definitions in code are simulated alone. */
const NO_DATABASE: readonly TockErrorCode[] = [
  'TOCK_DATABASE_UNREACHABLE',
  'TOCK_EMBEDDED_SERVER_FAILED',
  'TOCK_NO_EMBEDDED_SERVER',
  'TOCK_FOLDER_NOT_WRITABLE',
  'TOCK_NOT_MIGRATED',
];
const MAX_DEFINITIONS = 100_000;

/** Finds the definitions, or only those of `names`. @throws TockError TOCK_UNKNOWN_JOB with near misses */
export async function findSimulated(shell: Shell, names: readonly string[]): Promise<Simulated> {
  const [jobs, records] = [await jobsInCode(shell), await recordsIn(shell)];
  const known = new Set([...jobs.map(({ name }) => name), ...records.map(({ name }) => name)]);
  const unknown = names.find(name => !known.has(name));
  if (unknown !== undefined) {
    throw new TockError(
      'TOCK_UNKNOWN_JOB',
      `there is no definition ${quote(unknown)}, neither in code nor in the database${didYouMean(unknown, known) || ' (tock jobs lists them)'}`,
    );
  }
  const wanted = (name: string) => names.length === 0 || names.includes(name);
  const byName = new Map(records.map(record => [record.name, record]));
  const inCode = new Map(jobs.map(job => [job.name, job]));
  const definitions: SimulatedDefinition[] = [];
  const leftOut: { name: string; reason: string }[] = [];
  for (const name of [...known].filter(wanted).sort()) {
    const [record, job] = [byName.get(name), inCode.get(name)];
    const isStored = job === undefined || record?.origin === 'runtime';
    const chain = isStored ? (record?.after ?? null) : chainOfJob(job);
    const reason = reasonNotSimulated({
      isPaused: Boolean(record?.pausedAt),
      isBroken: typeof record?.brokenReason === 'string',
      isVanished: Boolean(record?.vanishedAt) && job === undefined,
      remaining: record?.remaining ?? null,
      chain,
    });
    const definition = isStored ? ofRecord(record) : ofJob(job, record);
    if (definition === null && chain === null) continue;
    if (reason === null && definition !== null) definitions.push(definition);
    else leftOut.push({ name, reason: reason ?? '' });
  }
  return { definitions, leftOut };
}

/** Without a database: none, and no embedded server is created. */
async function recordsIn(shell: Shell): Promise<readonly DefinitionRecord[]> {
  const { databaseUrl, isEmbedded, dataFolder } = shell.config;
  if (databaseUrl === null && !(isEmbedded && existsSync(dataFolder))) return [];
  try {
    return await withTock(shell, { needsJobs: false }, ({ tock }) =>
      tock.schedules.list({ limit: MAX_DEFINITIONS }),
    );
  } catch (error) {
    if (!(error instanceof TockError) || !NO_DATABASE.includes(error.code)) throw error;
    shell.note(`only the definitions in code: ${error.message}`);
    return [];
  }
}

function ofRecord(record: DefinitionRecord | undefined): SimulatedDefinition | null {
  const spec = record === undefined ? null : scheduleOfRecord(record);
  return record === undefined || spec === null ? null : { ...record, spec };
}

function ofJob(job: AnyJob, record: DefinitionRecord | undefined): SimulatedDefinition | null {
  if (job.schedule === undefined || job.schedule.after !== undefined) return null;
  const { columns } = describeDefinition(job);
  const remaining = record?.remaining ?? columns.remaining_count;
  const { jitter_ms: jitterMs, active_window: window, outside_window: outsideWindow } = columns;
  return { name: job.name, spec: job.schedule, jitterMs, remaining, window, outsideWindow };
}
