// The program behind src/tick.ts: one tick. Prints a summary line on standard output, logs on standard error.
// Exit codes: 0 ok, 1 failed, 2 usage error, 3 database unreachable.
import type { TickSummary } from '../engine/run-tick.js';
import { endOutput, lossSince, READER_TIMEOUT_MS, surviveLostOutput } from '../environment/output.js';
import { type Heartbeat, readHeartbeat } from '../model/alerts/read-alerts.js';
import { formatDuration, parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import { readIdle } from '../model/sleep/sleep.js';
import type { TickCallOptions } from '../tock/options.js';
import type { ShellTock } from '../tock/types.js';
import { type Config, configOfProcess, misspeltVariables } from './configuration.js';
import { judgeError } from './exit-codes.js';
import { openTock } from './open.js';
import { endWithin, stopSignal } from './stop-signal.js';
import { summaryLine } from './summary-line.js';

const HELP = `Usage: node dist/tick.js [options]

Makes one tick: registers changed definitions, takes back runs with expired leases, turns due occurrences into
runs, and executes runs until nothing is due or the budget is over. For a line in the crontab:

  * * * * * cd /srv/app && node dist/tick.js >> tick.log 2>&1

Options:
  --budget DURATION    how long new runs are claimed (default 50s, or TOCK_BUDGET)
  --concurrency N      maximum number of runs at once (default 10, or TOCK_CONCURRENCY)
  --idle DURATION      after five minutes with nothing to do, leave the database alone until something is due,
                       for so long at most (default never, or TOCK_IDLE)
  --migrate            bring the schema to this version first
  --jobs FILE          module that exports the array jobs (or TOCK_JOBS)
  --env-file FILE      read variables from this file first, such as .env
  --embedded           without DATABASE_URL, use the embedded PostgreSQL in .tock/
  --service NAME       the application whose jobs these are, where several share the schema (or TOCK_SERVICE)
  --allow-vanishing    register these jobs even if most definitions vanish
  --json               print the summary as JSON
  -h, --help           print this help

Exit codes: 0 ok, 1 failed, 2 usage error, 3 database unreachable.`;

/** That of the setting, where none is read yet. */
const DEFAULT_GRACE_MS = 10_000;

/** Makes the tick, and ends the process: nothing may make the ticks of each minute wait side by side. */
export async function tickMain(argv: readonly string[]): Promise<void> {
  surviveLostOutput();
  const { exitCode, graceMs } = await makeTick(argv);
  // Its reader may have stopped.
  if (!(await endOutput(READER_TIMEOUT_MS))) process.exit(exitCode);
  endWithin(graceMs, exitCode);
}

interface Made {
  readonly exitCode: number;
  readonly graceMs: number;
}

async function makeTick(argv: readonly string[]): Promise<Made> {
  let schema = 'tock';
  let graceMs = DEFAULT_GRACE_MS;
  const made = (exitCode: number): Made => ({ exitCode, graceMs });
  try {
    const options = readOptions(argv);
    if (options.help) {
      say(HELP);
      return made(0);
    }
    const config = configOfProcess(options);
    schema = config.schema;
    if (config.grace !== undefined) graceMs = parseDuration(config.grace);
    const misspelt = misspeltVariables(process.env);
    if (misspelt !== null) process.stderr.write(`tick: ${misspelt}\n`);
    const stop = stopSignal();
    const concurrency = options.concurrency === undefined ? config.concurrency : Number(options.concurrency);
    const call = {
      budget: options.budget ?? config.budget ?? '50s',
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(config.queues === undefined ? {} : { queues: config.queues }),
      signal: stop,
    };
    const asked = options.idle ?? config.idle;
    const idleMs = asked === undefined ? undefined : readIdle(asked, '--idle');
    const { tock, jobs, idle, isAsleep, settle, where, close } = await openTock({
      config,
      migrate: options.migrate === true,
      tick: call,
      idleMs,
    }).catch(async (error: unknown) => {
      await pingHeartbeat(heartbeatOf(config), false);
      throw error;
    });
    try {
      const done = idle ?? (await guardedTick(tock, call, stop));
      const asleepUntil = await settle(done);
      const summary = asleepUntil === null ? done : { ...done, asleepUntil };
      // A whole tick sends its own heartbeat, and one that asked nothing knows nothing.
      if (idle && !isAsleep) await pingHeartbeat(tock.heartbeat, true);
      if (asleepUntil !== null && tock.heartbeat !== null)
        process.stderr.write(
          `tick: while ticks sleep nothing requests the URL of the heartbeat: let its monitor wait for ${formatDuration(idleMs ?? 0)} more\n`,
        );
      say(options.json ? JSON.stringify(summary) : summaryLine(summary, jobs.length, where));
      return made(0);
    } finally {
      await close();
    }
  } catch (error) {
    const { exitCode, message } = judgeError(error, schema);
    process.stderr.write(`tick: ${message}\n`);
    return made(exitCode);
  }
}

async function guardedTick(tock: ShellTock, call: TickCallOptions, stop: AbortSignal): Promise<TickSummary> {
  // Loaded late: an idle tick does not need it.
  const { underCrashGuard } = await import('./crash-guard.js');
  return await underCrashGuard({ name: 'tick', tock, stop }, async () => await tock.tick(call));
}

/** That of the environment: the job module may be what failed. */
function heartbeatOf({ heartbeatUrl: url, heartbeatFailUrl: failUrl }: Config): Heartbeat | null {
  return url === undefined ? null : readHeartbeat({ url, ...(failUrl === undefined ? {} : { failUrl }) });
}

/** Loads what is needed only where a heartbeat is configured. Never rejects. */
async function pingHeartbeat(heartbeat: Heartbeat | null, isHealthy: boolean): Promise<void> {
  if (heartbeat === null || (!isHealthy && heartbeat.failUrl === null)) return;
  const { sendHeartbeat } = await import('../engine/alerts/heartbeat.js');
  await sendHeartbeat(heartbeat, isHealthy);
}

/** If it cannot, standard error says so: the exit code is that of the tick. */
function say(line: string): void {
  process.stdout.write(`${line}\n`);
  const lost = lossSince(0, ['stdout']);
  if (lost !== null) process.stderr.write(`tick: ${lost}: some of what was printed is lost\n`);
}

interface TickFlags {
  readonly budget?: string | undefined;
  readonly idle?: string | undefined;
  readonly concurrency?: string | undefined;
  readonly migrate?: boolean | undefined;
  readonly jobs?: string | undefined;
  readonly envFile?: string | undefined;
  readonly embedded?: boolean | undefined;
  readonly allowVanishing?: boolean | undefined;
  readonly service?: string | undefined;
  readonly json?: boolean | undefined;
  readonly help?: boolean | undefined;
}

function readOptions(argv: readonly string[]): TickFlags {
  // The usual case under cron, which needs no parser.
  if (argv.length === 0) return {};
  // Imported as an ES module, it loads Node's worker threads from Node 24 on.
  const { parseArgs } = process.getBuiltinModule('node:util');
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        budget: { type: 'string' },
        idle: { type: 'string' },
        concurrency: { type: 'string' },
        migrate: { type: 'boolean' },
        jobs: { type: 'string' },
        'env-file': { type: 'string' },
        embedded: { type: 'boolean' },
        'allow-vanishing': { type: 'boolean' },
        service: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    const { 'env-file': envFile, 'allow-vanishing': allowVanishing, ...others } = values;
    return { ...others, envFile, allowVanishing };
  } catch (error) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      `${error instanceof Error ? error.message : String(error)} (see --help)`,
    );
  }
}
