// `tock run`: enqueues one run; with --wait, executes it and waits for its end. Exit code 0 then means
// success.
import type { Command } from 'commander';
import { TockError } from '../../../model/errors.js';
import type { Freeze } from '../../../model/freeze/freeze.js';
import type { NewRun } from '../../../model/job/job.js';
import type { Enqueued } from '../../../model/job/run-id.js';
import { quote } from '../../../model/names.js';
import { didYouMean } from '../../../model/nearest.js';
import type { RunRecord } from '../../../model/run/run-record.js';
import { isFinished } from '../../../model/run/states.js';
import { stopSignal } from '../../../runtime/stop-signal.js';
import type { ShellTock, Tock } from '../../../tock/types.js';
import { SERVICE } from '../../flags/common-flags.js';
import { count, duration, examples, instant, tags, withJson } from '../../flags/flags.js';
import { readPayload } from '../../flags/payload-source.js';
import { action, type CommonOptions, infoInTerminal, type Shell, withTock } from '../../shell.js';
import { cleanLine, jsonText, paint, paintStatus } from '../../terminal.js';
import { logLines } from '../../views/run-log.js';
import { errorLine, nameOf, nextStep, tookText } from '../../views/run-text.js';
import { createWaitView, type WaitView } from '../../views/wait-view.js';

interface RunFlags extends CommonOptions {
  readonly payload?: string;
  readonly key?: string;
  readonly unique?: 'ever' | 'live';
  readonly replace?: true;
  readonly debounce?: string;
  readonly at?: Date;
  readonly delay?: string;
  readonly wait?: true;
  readonly log?: true;
  readonly queue?: string;
  readonly priority?: number;
  readonly maxAttempts?: number;
  readonly tag?: string[];
}

export function addRun(program: Command): Command {
  return withJson(program.command('run'))
    .summary('enqueue a run of a job, and optionally wait for its end')
    .description(
      'Enqueues one run of a job and prints its id. With --wait, executes it here, unless another worker claims it first, and prints the outcome.',
    )
    .argument('<job>', 'name of the job')
    .option(...SERVICE)
    .option('--payload <json>', 'JSON; @file reads a file, - reads standard input (default {})')
    .option('--key <key>', 'what the run stands for: at most one run per key, ever')
    .option('--unique <ever|live>', 'live: the key is free again when its run has ended (default ever)')
    .option('--replace', 'with --unique live: give this payload and time to a run that waits under the key')
    .option('--debounce <duration>', 'start this long after the last call with the key', duration)
    .option('--at <instant>', 'start at this time, such as 2026-03-08T07:30:00Z (default now)', instant)
    .option('--delay <duration>', 'start after this time, such as 5m', duration)
    .option('--wait', 'wait until it has ended; exit code 0 if it succeeded, otherwise 1')
    .option('--log', 'with --wait: print what its handler has logged')
    .option('--queue <queue>', 'overrides the job’s own')
    .option('--priority <n>', 'lower goes first', count(-2_147_483_647, 2_147_483_647))
    .option('--max-attempts <n>', 'overrides the job’s own', count(1, 1_000_000))
    .option('--tag <tag>', 'beside those of the job; may be repeated', tags)
    .addHelpText(
      'after',
      examples(
        ['tock run weekly-run-report --wait', 'execute it now and see the outcome'],
        [`tock run deliver-webhook --payload '{"id": 7}'`, 'with a payload'],
        [
          'tock run deliver-webhook --payload @event.json --key event:7',
          'once, even if this is called again',
        ],
        ['tock run reindex --key shop:7 --unique live', 'unless one is waiting or running'],
        ['tock run reindex --key shop:7 --debounce 5s', '5 s after the last of several calls'],
      ),
    )
    .action(action(run));
}

async function run(shell: Shell, flags: RunFlags, name: string): Promise<number> {
  checkFlags(flags);
  const payload = await readPayload(flags.payload);
  // Checked first: an unknown name needs no database.
  const { loadJobs } = await import('../../../runtime/job-module.js');
  const jobs = await loadJobs(shell.config.jobsModule);
  const names = jobs.flatMap(job => [job.name, ...(job.aliases ?? [])]);
  if (!names.includes(name)) {
    throw new TockError(
      'TOCK_UNKNOWN_JOB',
      `there is no job ${quote(name)}${didYouMean(name, names) || `; known jobs: ${names.join(', ') || 'none'}`}`,
    );
  }
  const stop = flags.wait ? stopSignal() : null;
  // With --log the lines are printed at the end.
  const options = flags.wait && !flags.log ? infoInTerminal() : {};
  return await withTock(shell, options, async ({ tock }) => {
    const made = await enqueue(tock, name, payload, flags);
    if (stop) return await waitForEnd(shell, tock, made, name, flags, stop);
    const run = await tock.runs.get(made.id);
    shell.document({ ...made, run });
    shell.say(enqueuedText(made, flags, name, run, await tock.frozen()));
    return 0;
  });
}

function checkFlags({ key, unique, replace, debounce, at, delay, log, wait }: RunFlags): void {
  const refuse = (message: string) => {
    throw new TockError('TOCK_BAD_OPTION', message);
  };
  if (unique !== undefined && unique !== 'ever' && unique !== 'live')
    refuse(`--unique ${quote(unique)} is not allowed; use ever or live`);
  if (key === undefined && (unique === 'live' || debounce !== undefined))
    refuse(
      `${debounce === undefined ? '--unique live' : '--debounce'} needs --key: the name of what must not run twice`,
    );
  if (replace && unique !== 'live' && debounce === undefined)
    refuse('--replace needs --unique live: a key that is unique forever keeps its run unchanged');
  if (debounce !== undefined && unique === 'ever') refuse('--debounce needs --unique live, not ever');
  const times = { '--debounce': debounce, '--at': at, '--delay': delay };
  const given = Object.entries(times).flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
  if (log && !wait) refuse('--log needs --wait; later, use tock show --log');
  if (given.length > 1) refuse(`${given.join(' and ')} exclude each other: each sets the time; give one`);
}

function enqueuedText(
  { id, isNew, isReplaced }: Enqueued,
  { key = '', unique, debounce }: RunFlags,
  name: string,
  run: RunRecord | null,
  frozen: Freeze | null = null,
): string {
  const isLive = unique === 'live' || debounce !== undefined;
  const isPending = run === null && (isNew || isReplaced) && isLive;
  const next = run
    ? `: ${nextStep(run, Date.now(), frozen)}`
    : isPending
      ? ': it starts when the run that has its key now has ended'
      : '';
  if (isNew) return `enqueued run ${paint('bold', id)} of ${cleanLine(name)}${next}`;
  const owner = `the key ${quote(cleanLine(key))}`;
  if (isReplaced) return `replaced run ${paint('bold', id)}, which waited under ${owner}${next}`;
  if (run === null && isLive)
    return `nothing was enqueued: the run that had ${owner} has just ended; repeat the command`;
  return `nothing was enqueued: ${owner} belongs to run ${paint('bold', id)}, which ${run ? `is ${paintStatus(run.status)}` : 'has been pruned'}`;
}

async function enqueue(tock: Tock, job: string, payload: unknown, flags: RunFlags): Promise<Enqueued> {
  const run: NewRun = {
    job,
    payload,
    trigger: 'manual',
    ...(flags.key === undefined ? {} : { key: flags.key }),
    ...(flags.unique === undefined ? {} : { unique: flags.unique }),
    ...(flags.replace === undefined ? {} : { replace: true }),
    ...(flags.debounce === undefined ? {} : { debounce: flags.debounce }),
    ...(flags.at === undefined ? {} : { runAt: flags.at }),
    ...(flags.delay === undefined ? {} : { delay: flags.delay }),
    ...(flags.queue === undefined ? {} : { queue: flags.queue }),
    ...(flags.priority === undefined ? {} : { priority: flags.priority }),
    ...(flags.maxAttempts === undefined ? {} : { maxAttempts: flags.maxAttempts }),
    ...(flags.tag === undefined ? {} : { tags: flags.tag }),
  };
  const [enqueued] = await tock.enqueueMany([run], { details: true });
  return enqueued;
}

async function waitForEnd(
  shell: Shell,
  tock: ShellTock,
  made: Enqueued,
  name: string,
  flags: RunFlags,
  signal: AbortSignal,
): Promise<number> {
  const { id } = made;
  const run = await tock.runs.get(id);
  if ((!made.isNew || run === null) && !shell.json) shell.note(enqueuedText(made, flags, name, run));
  const view = createWaitView(shell);
  const { underCrashGuard } = await import('../../../runtime/crash-guard.js');
  const ended = await underCrashGuard({ name: 'tock run', tock, stop: signal }, () =>
    outcome(tock, id, view, signal).finally(view.end),
  );
  const logs = flags.log ? await tock.runs.log(id) : null;
  shell.document({ ...made, run: ended, ...(logs === null ? {} : { log: logs }) });
  if (!shell.json) for (const line of logs === null ? [] : logLines(logs)) shell.print(line);
  if (isFinished(ended.status)) sayOutcome(shell, ended);
  else shell.note(`stopped waiting; run ${id} is ${ended.status}: ${nextStep(ended)}`);
  return ended.status === 'succeeded' ? 0 : 1;
}

/** The run when it has ended, or as it is when the wait was interrupted. */
async function outcome(tock: Tock, id: string, view: WaitView, signal: AbortSignal): Promise<RunRecord> {
  try {
    return await tock.runs.wait(id, { execute: true, onChange: view.show, signal });
  } catch (error) {
    const unfinished = signal.aborted ? await tock.runs.get(id) : null;
    if (unfinished === null) throw error;
    return unfinished;
  }
}

function sayOutcome(shell: Shell, run: RunRecord): void {
  const took = tookText(run);
  const attempts = `attempt ${run.attempts} of ${run.maxAttempts}`;
  shell.say(
    `run ${paint('bold', run.id)} of ${nameOf(run)}: ${paintStatus(run.status)}${took === '' ? '' : ` in ${took}`} (${attempts})`,
  );
  const why = errorLine(run);
  if (why !== '') shell.say(`  ${why}`);
  if (run.status === 'dead') shell.say(paint('dim', `  details: tock show ${run.id} --stack`));
  if (run.output !== null && run.output !== undefined) shell.print(jsonText(run.output, 2));
}
