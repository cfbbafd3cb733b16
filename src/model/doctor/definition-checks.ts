// Checks of definitions, queues and keys.
import { formatSpan } from '../duration.js';
import type { DefinitionRecord } from '../planning/definition-columns.js';
import type { Kept } from '../planning/retention.js';
import { windowIn } from '../planning/window.js';
import type { Finding } from '../problems.js';
import type { SchedulerStatus } from '../scheduler-view.js';
import { shellWord } from '../shell-word.js';
import { fine, fromStatus, joined, unknown, wrong } from './check.js';

/** A definition whose job the code lacks. */
export type OrphanedDefinition = Pick<DefinitionRecord, 'name' | 'job' | 'origin'>;

export interface OrphanedRuns {
  readonly job: string;
  /** At most 1000 are counted in all. */
  readonly count: number;
}

export interface Orphans {
  /** How many jobs the code has. */
  readonly jobs: number;
  readonly definitions: readonly OrphanedDefinition[];
  readonly runs: readonly OrphanedRuns[];
}

export function checkJobs({ jobs, definitions, runs }: Orphans): Finding {
  if (jobs === 0)
    return unknown('this process has no jobs, so it cannot tell: run tock doctor where the ticks run');
  const found: Finding[] = [];
  const [first] = definitions;
  if (first !== undefined) {
    const command =
      first.origin === 'runtime' ? `tock schedule remove ${shellWord(first.name)}` : 'tock tick';
    const names = listed(definitions.map(({ name, job }) => `${name} (${job})`));
    found.push(
      wrong(
        'failing',
        `this code lacks the job of ${names}: their runs wait for a worker that has it`,
        first.origin === 'runtime'
          ? `Add the job to the code, or remove the schedule: ${command}`
          : 'Another version of the code is in force: deploy the code, and tick',
        command,
      ),
    );
  }
  const [run] = runs;
  if (run !== undefined) {
    const command = `tock cancel --status queued,failed --job ${shellWord(run.job)} --yes`;
    found.push(
      wrong(
        'warning',
        `this code lacks the job of live runs: ${listed(runs.map(each => `${each.count} of ${each.job}`))}`,
        `Add the job to the code, or cancel them: ${command}`,
        command,
      ),
    );
  }
  return joined(found, `every definition has its job among the ${jobs} in code`);
}

export interface BrokenDefinition {
  readonly name: string;
  readonly origin: 'code' | 'runtime';
  readonly reason: string | null;
}

export function checkBroken(broken: readonly BrokenDefinition[]): Finding {
  const [first] = broken;
  if (first === undefined) return fine('every definition can be evaluated');
  const flag = /zone/i.test(first.reason ?? '') ? '--timezone <zone>' : '--cron <expression>';
  const command =
    first.origin === 'runtime' ? `tock schedule set ${shellWord(first.name)} ${flag}` : 'tock tick';
  return wrong(
    'failing',
    `no runs are made of ${listed(broken.map(({ name, reason }) => `${name} (${reason ?? 'no reason is on record'})`))}`,
    first.origin === 'runtime'
      ? `Set it again: ${command}`
      : 'Correct it in code, and deploy; the next tick registers it',
    command,
  );
}

export interface PausedDefinition {
  readonly name: string;
  readonly reason: string | null;
  /** After dead runs, not by an operator. */
  readonly isByItself: boolean;
}

/** Pauses by an operator are no problem. */
export function checkPaused(paused: readonly PausedDefinition[], status: SchedulerStatus): Finding {
  const byItself = paused.filter(({ isByItself }) => isByItself);
  const [first] = byItself;
  const queues = fromStatus(status, {}, ['paused-queue', 'relay-away'], '');
  const found = queues.level === 'ok' ? [] : [queues];
  if (first !== undefined)
    found.unshift(
      wrong(
        'warning',
        `after dead runs: ${listed(byItself.map(({ name, reason }) => `${name} (${reason ?? ''})`))}`,
        `Correct the cause (tock runs --status dead), then: tock resume ${shellWord(first.name)}`,
        `tock resume ${shellWord(first.name)}`,
      ),
    );
  return joined(
    found,
    paused.length === 0
      ? 'nothing is'
      : `by operators: ${listed(paused.map(({ name, reason }) => (reason === null ? name : `${name} (${reason})`)))}`,
  );
}

/** A scheduled run that waits past the next occurrence of its definition. */
export interface OutlastingWait {
  readonly definition: string;
  readonly overlap: string;
  readonly runId: string;
}

export function checkWaits(waits: readonly OutlastingWait[]): Finding {
  const [first] = waits;
  if (first === undefined) return fine('no scheduled run waits past its next occurrence');
  return wrong(
    'warning',
    `runs wait past the next occurrence of ${listed(waits.map(({ definition, overlap }) => `${definition} (overlap: ${overlap})`))}, which cannot start beside them`,
    `Say overlap: 'allow_all' where it is to; what the run waits for: tock show ${first.runId}`,
    `tock show ${first.runId}`,
  );
}

export interface OldKeys {
  /** The oldest row among the first of each table, which are the oldest; null: none. */
  readonly oldest: Date | null;
  /** Where it is. */
  readonly table: string | null;
}

const KEEP_KEYS_MS = 400 * 86_400_000;
/** A prune that is a month late is not a matter of a missed night. */
const LATE_MS = 30 * 86_400_000;

/** When retention was last whole, and what has come since. */
export interface PruneFacts {
  readonly prunedAt: Date;
  /** When somebody was to prune next, or is to. */
  readonly dueAt: Date;
  /** Runs have ended two days after that, and two hours ago: so somebody could have pruned. */
  readonly hasEndedSince: boolean;
  /** What processes keep; false: nothing is pruned by itself. */
  readonly kept: readonly (Kept | false)[];
}

/** Who may prune looks within an hour, and ticks leave it to daemons for a while. */
const LOOKED_MS = 4 * 3_600_000;

/** @param project where it is, and in which schema its tables are */
export function checkPruned(
  { prunedAt, dueAt, hasEndedSince, kept }: PruneFacts,
  at: Date,
  project: { readonly folder: string; readonly schema: string },
): Finding {
  const since = formatSpan(at.getTime() - prunedAt.getTime());
  if (!hasEndedSince || kept.includes(false)) return fine(`all that was old was gone ${since} ago`);
  const schema = project.schema === 'tock' ? '' : `TOCK_SCHEMA=${shellWord(project.schema)} `;
  return wrong(
    'warning',
    at.getTime() - dueAt.getTime() > LOOKED_MS
      ? `nothing has pruned for ${since}: no process that ticks has the owner’s rights and two connections`
      : `for ${since} not all that is old has been pruned: ticks have not the time, or others hold locks on the history`,
    `Put it into the owner’s crontab: 30 3 * * * cd ${shellWord(project.folder)} && ${schema}DATABASE_URL=postgres://OWNER@HOST/DATABASE npx tock prune`,
    'tock prune',
  );
}

export function checkKeys({ oldest, table }: OldKeys, at: Date, keepMs = KEEP_KEYS_MS): Finding {
  const ageMs = oldest === null ? 0 : at.getTime() - oldest.getTime();
  if (ageMs <= keepMs + LATE_MS)
    return fine(oldest === null ? 'there are no keys yet' : `the oldest key is of ${formatSpan(ageMs)} ago`);
  return wrong(
    'warning',
    `${table ?? ''} holds keys of ${formatSpan(ageMs)} ago, which are kept for ${formatSpan(keepMs)}: nothing prunes`,
    'Prune as the owner: tock prune',
    'tock prune',
  );
}

export interface LimitedQueue {
  readonly name: string;
  readonly concurrency: number | null;
  readonly rate: { readonly count: number; readonly perMs: number } | null;
  readonly window: string | null;
  readonly timezone: string;
  /** Counted where `concurrency` is 0, up to 10,000. */
  readonly waiting: number;
}

/** A planned definition in a queue with limits. */
export interface QueuedDefinition extends Pick<DefinitionRecord, 'name' | 'queue' | 'window' | 'timezone'> {
  /** Occurrences in the next 24 hours; at most 100,000 are counted. */
  readonly perDay: number;
}

const DAY_MS = 86_400_000;

/** Finds limits that cannot be satisfied. */
export function checkQueues(
  queues: readonly LimitedQueue[],
  definitions: readonly QueuedDefinition[],
  at: Date,
): Finding {
  const found = queues.flatMap(queue => {
    const own = definitions.filter(each => each.queue === queue.name);
    return [
      letsNoneStart(queue, own),
      asksForMoreThanTheRate(queue, own),
      ...own.map(each => neverOpen(queue, each, at)),
    ];
  });
  return joined(
    found.filter(finding => finding !== null),
    queues.length === 0
      ? 'no queue has any'
      : `those of ${listed(queues.map(({ name }) => name))} can be satisfied`,
  );
}

function letsNoneStart(
  { name, concurrency, waiting }: LimitedQueue,
  own: readonly QueuedDefinition[],
): Finding | null {
  if (concurrency !== 0 || (waiting === 0 && own.length === 0)) return null;
  const command = `tock queue set ${shellWord(name)} --concurrency none`;
  return wrong(
    'failing',
    `queue ${name} has a concurrency of 0, so none of its runs starts (${waiting} waiting)`,
    `Raise it, or remove it: ${command}; to hold runs back for a while, pause the queue`,
    command,
  );
}

function asksForMoreThanTheRate(
  { name, rate }: LimitedQueue,
  own: readonly QueuedDefinition[],
): Finding | null {
  if (rate === null) return null;
  const asked = own.reduce((sum, { perDay }) => sum + perDay, 0);
  const allowed = (rate.count * DAY_MS) / rate.perMs;
  if (asked <= Math.max(allowed, rate.count)) return null;
  const command = `tock queue set ${shellWord(name)} --rate none`;
  return wrong(
    'warning',
    `queue ${name} starts ${Math.floor(allowed)} runs a day, and its schedules make ${asked} in the next 24 hours: they wait longer and longer`,
    `Raise the rate, or remove it: ${command}`,
    command,
  );
}

const MINUTE_MS = 60_000;
const QUARTERS_MS = [0, 91, 182, 273].map(days => days * DAY_MS);

function neverOpen(queue: LimitedQueue, definition: QueuedDefinition, at: Date): Finding | null {
  if (queue.window === null || definition.window === null) return null;
  const windows = [windowIn(queue.window, queue.timezone), windowIn(definition.window, definition.timezone)];
  // In each quarter of the year: summer time moves the windows of two zones against each other.
  for (const start of QUARTERS_MS.map(ms => at.getTime() + ms))
    for (let minute = start; minute < start + DAY_MS; minute += MINUTE_MS)
      if (windows.every(window => window.isOpen(minute))) return null;
  const command = `tock queue set ${shellWord(queue.name)} --window none`;
  return wrong(
    'failing',
    `${definition.name} may run at ${definition.window} ${definition.timezone}, its queue ${queue.name} at ${queue.window} ${queue.timezone}: never at the same time`,
    `Change one of the windows, or remove the queue's: ${command}`,
    command,
  );
}

/** The first five, and how many more. */
function listed(texts: readonly string[]): string {
  const more = texts.length > 5 ? ` and ${texts.length - 5} more` : '';
  return `${texts.slice(0, 5).join(', ')}${more}`;
}
