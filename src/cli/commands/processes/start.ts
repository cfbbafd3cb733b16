// `tock start`: runs the scheduler until a signal. Exit code 0 after a drain.

import { existsSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type Command, Option } from 'commander';
import type { DefinitionRecord } from '../../../answers/schedules/lists.js';
import { TockError } from '../../../model/errors.js';
import type { AnyJob } from '../../../model/job/job.js';
import { definitionWords } from '../../../model/planning/schedule-words.js';
import { unfinished } from '../../../model/run/outcome-counts.js';
import { underCrashGuard } from '../../../runtime/crash-guard.js';
import { stopSignal } from '../../../runtime/stop-signal.js';
import { boundYoungGeneration } from '../../../runtime/young-generation.js';
import type { Tock } from '../../../tock/types.js';
import { isOffered, offerDashboard, type Place } from '../../dashboard/beside-worker.js';
import type { Handover, Served } from '../../dashboard/serve-dashboard.js';
import { type AddressFlags, withAddress } from '../../flags/address-flags.js';
import { ALLOW_VANISHING, EMBEDDED, IDLE, SERVICE } from '../../flags/common-flags.js';
import { count, examples, queues, withJson } from '../../flags/flags.js';
import { aborted, action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint, STATUS_COLOURS } from '../../terminal.js';
import { noteMisspelt } from '../../unknown-names.js';
import { type Cell, drawTable } from '../../views/table.js';
import { localTime, relative } from '../../views/time-text.js';
import { joinWatcher } from '../../watch/join-watcher.js';

interface StartFlags extends CommonOptions, AddressFlags {
  readonly concurrency?: number;
  readonly queues?: string[];
  readonly idle?: string;
  readonly listen: boolean;
  readonly pretty?: true;
  readonly dashboard?: boolean;
  readonly watch?: true;
  /** For the process that `--watch` starts: whether it is the first that runs. */
  readonly watched?: 'first' | 'again';
}

const MAX_ROWS = 20;

type Daemon = Awaited<ReturnType<Tock['start']>>;

export function addStart(program: Command): Command {
  const command = withJson(program.command('start'))
    .summary('run the scheduler here until Ctrl-C')
    .description(
      'Runs the scheduler in this process: migrates, registers the jobs, and executes runs when they are due. Ctrl-C or SIGTERM lets running jobs finish, then stops; a second one ends the process at once.',
    )
    .option(
      '--concurrency <n>',
      'maximum of runs at once (default 10, or TOCK_CONCURRENCY)',
      count(1, 10_000),
    )
    .option('--queues <a,b>', 'only these queues (default all, or TOCK_QUEUES)', queues)
    .option(...IDLE)
    .option('--no-listen', 'poll every second instead of LISTEN, for pgbouncer in transaction mode')
    .option('--pretty', 'readable logs instead of JSON lines (the default in a terminal)')
    .option('--dashboard', 'also serve the dashboard, and print its link (the default in a terminal)')
    .option('--no-dashboard', 'serve no dashboard in a terminal either')
    .option('--watch', 'for development: start anew when the job module, or what it imports, changes')
    .addOption(new Option('--watched <which>').choices(['first', 'again']).hideHelp())
    .option(...EMBEDDED)
    .option(...SERVICE)
    .option(...ALLOW_VANISHING);
  return withAddress(command, 'of the dashboard: ')
    .addHelpText(
      'after',
      examples(
        ['tock start', 'all queues, ten runs at once'],
        ['tock start --queues mail --concurrency 2', 'one queue, two runs at once'],
        ['tock start --dashboard', 'with pages to look at, wherever it was started'],
        ['tock start --embedded', 'without a PostgreSQL of your own'],
        ['tock start --watch', 'while you write jobs'],
        ['tock start --idle 15m', 'for a database that suspends when nobody uses it'],
      ),
    )
    .action(action(start));
}

async function start(shell: Shell, flags: StartFlags): Promise<number> {
  const { config } = shell;
  if (flags.dashboard === true) (await import('../../dashboard/address.js')).readAddress(flags);
  if (flags.watch === true) {
    if (shell.json)
      throw new TockError(
        'TOCK_BAD_OPTION',
        '--watch is for a person, and --json for a script: leave out one',
      );
    // Without a module there is nothing to watch; what follows says so.
    if (config.jobsModule !== null && existsSync(config.jobsModule)) {
      const { watchStart } = await import('../../watch/watch-start.js');
      const hasDashboard = flags.dashboard ?? isOffered(shell, placeOfProcess());
      return await watchStart(shell, { module: config.jobsModule, hasDashboard });
    }
  }
  const watcher = flags.watched === undefined ? null : joinWatcher();
  const handover = { kept: watcher?.dashboard ?? null, onKept: watcher?.keep };
  const isAsked = flags.dashboard === true;
  const hasDashboard =
    flags.dashboard ??
    (watcher === null ? isOffered(shell, placeOfProcess()) : watcher.dashboard !== undefined);
  if (flags.watched !== 'again') noteMisspelt(shell);
  boundYoungGeneration();
  const stop = watcher === null ? stopSignal() : AbortSignal.any([stopSignal(), watcher.stop]);
  // After a change the watcher says all that is to be said.
  const isBrief = flags.watched === 'again';
  const pretty = flags.pretty === true || process.stderr.isTTY;
  return await withTock(
    shell,
    { migrate: 'if-needed', defaultLogLevel: 'info', pretty, keepServer: true },
    async ({ tock, jobs, where, psqlCommand }) => {
      if (jobs.length === 0) shell.say(noJobs(config.jobsModule ?? ''));
      await tock.register();
      const records = (await tock.schedules.list({ limit: 1000 })).filter(isScheduled);
      if (!shell.json && !isBrief) await saySchedule(shell, records, jobs);
      if (psqlCommand !== null && !isBrief) shell.say(`to inspect the database: ${cleanLine(psqlCommand)}`);
      if (stop.aborted) return 0;
      const asked = isAsked ? await serveAsked(shell, tock, flags, handover) : null;
      return await underCrashGuard({ name: 'tock start', tock, stop }, async () => {
        const concurrency = flags.concurrency ?? config.concurrency ?? 10;
        const chosen = flags.queues ?? config.queues;
        const idle = flags.idle ?? config.idle;
        const daemon = await tock.start({ concurrency, queues: chosen, listen: flags.listen, idle });
        shell.document({
          worker: daemon.id,
          where,
          concurrency,
          queues: chosen ?? null,
          definitions: records.slice(0, MAX_ROWS),
          ...(asked ? { dashboard: asked.url, linkFile: asked.linkFile } : {}),
        });
        const what = `up to ${concurrency} ${concurrency === 1 ? 'run' : 'runs'} at once${chosen ? ` of ${chosen.join(', ')}` : ''}`;
        if (!isBrief) {
          shell.say(
            `${paint('green', 'running')} on ${cleanLine(where)}, ${what}. Ctrl-C lets running jobs finish, then stops.`,
          );
          if (jobs.length > 0) shell.say(paint('dim', nextCommands(jobs, records, hasDashboard)));
        }
        watcher?.sayRunning();
        // Not awaited: the worker comes first.
        const isSaid = isBrief && handover.kept === null;
        const offered =
          hasDashboard && !isAsked ? offerDashboard(shell, tock, flags, { ...handover, isSaid }) : null;
        await Promise.race([aborted(stop), daemon.ended]);
        await drain(shell, { tock, daemon, isForNext: watcher?.stop.aborted === true });
        await (asked ?? (await offered))?.close();
        const cause = await daemon.ended;
        if (cause !== null) throw cause;
        return 0;
      });
    },
  );
}

const placeOfProcess = (): Place => ({
  isStdinTerminal: isatty(0),
  isStdoutTerminal: isatty(1),
  nodeEnv: process.env['NODE_ENV'],
});

/** Before the worker starts: what prevents it, ends the command. */
async function serveAsked(shell: Shell, tock: Tock, flags: StartFlags, handover: Handover): Promise<Served> {
  const { serveFor } = await import('../../dashboard/serve-dashboard.js');
  return await serveFor(shell, tock, flags, handover);
}

/** What to type next, elsewhere. */
function nextCommands(
  jobs: readonly AnyJob[],
  [first]: readonly DefinitionRecord[],
  hasDashboard: boolean,
): string {
  const job = jobs.find(({ name }) => name === first?.job) ?? jobs[0];
  const run = job === undefined ? [] : [`tock run ${cleanLine(job.name)} --wait`];
  const commands = ['tock status', 'tock runs', ...run, ...(hasDashboard ? [] : ['tock dashboard'])];
  return `in another terminal: ${commands.join(', ')}`;
}

function noJobs(module: string): string {
  return `no jobs are defined in ${cleanLine(module)}. Add one: write a file with defineJob({ name, schedule, run }) in jobs/, add it to the array in jobs/index.ts, build, and start again.`;
}

function isScheduled({ nextAt, after, vanishedAt, pausedAt, brokenReason }: DefinitionRecord): boolean {
  return (
    (nextAt !== null || after !== null) && vanishedAt === null && pausedAt === null && brokenReason === null
  );
}

async function saySchedule(
  shell: Shell,
  records: readonly DefinitionRecord[],
  jobs: readonly AnyJob[],
): Promise<void> {
  if (records.length === 0) {
    if (jobs.length > 0) shell.say('nothing is scheduled; tock run and enqueue create runs');
    return;
  }
  const columns = [
    { title: 'definition', flexible: true },
    { title: 'schedule', flexible: true },
    { title: 'next' },
    { title: '' },
    { title: 'last run' },
  ];
  const now = Date.now();
  const rows = records
    .slice(0, MAX_ROWS)
    .map((record): Cell[] => [
      record.name,
      definitionWords(record),
      record.nextAt ? localTime(record.nextAt) : '',
      record.nextAt ? relative(record.nextAt, now) : '',
      record.lastRun
        ? { text: record.lastRun.status, colour: STATUS_COLOURS[record.lastRun.status] }
        : { text: 'none yet', colour: 'dim' },
    ]);
  shell.say(await drawTable(columns, rows));
  if (records.length > MAX_ROWS)
    shell.say(paint('dim', `… and ${records.length - MAX_ROWS} more (tock jobs)`));
}

interface Drained {
  readonly tock: Tock;
  readonly daemon: Daemon;
  /** Whether another worker follows, as after a change under --watch: then only waiting is worth a line. */
  readonly isForNext: boolean;
}

async function drain(shell: Shell, { tock, daemon, isForNext }: Drained): Promise<void> {
  const stopping = daemon.stop();
  const running = unfinished(daemon.outcomeCounts);
  if (running === 0) {
    if (!isForNext) shell.say('stopping: nothing is running');
  } else {
    const names = await namesOf(tock, daemon.id);
    const which = names.length === 0 ? '' : ` (${names.join(', ')})`;
    const limit = shell.config.drain ?? '20s';
    const [what, hint] = isForNext ? ['restarting', ''] : ['stopping', '. Ctrl-C again ends them at once.'];
    shell.say(
      `${what}: waiting up to ${limit} for ${running === 1 ? '1 run' : `${running} runs`} to end${which}${hint}`,
    );
  }
  await stopping;
  if (isForNext) return;
  const { succeeded, failed, dead, released, handedOff } = daemon.outcomeCounts;
  const parts = [
    `${succeeded} succeeded`,
    `${failed} failed`,
    `${dead} dead`,
    ...(handedOff > 0 ? [`${handedOff} handed off`] : []),
    ...(released > 0 ? [`${released} given back to the queue`] : []),
  ];
  shell.say(`stopped: ${parts.join(', ')}`);
}

/** Waits 1 s at most: a database that does not answer must not delay the stop. */
async function namesOf(tock: Tock, worker: string): Promise<string[]> {
  const asked = tock.runs.list({ status: 'running', limit: 1000 });
  const late = new Promise<[]>(resolve => {
    setTimeout(resolve, 1000, []).unref();
  });
  try {
    const running = await Promise.race([asked, late]);
    const mine = running.filter(run => run.lockedBy === worker);
    const more = mine.length > 5 ? [`${mine.length - 5} more`] : [];
    return [...mine.slice(0, 5).map(run => `${cleanLine(run.job)} ${run.id}`), ...more];
  } catch {
    return [];
  }
}
