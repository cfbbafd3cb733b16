// Shell: cli. `tock run`: enqueues one run by hand; with --wait, sees it through.
// In: a job's name, a payload. Out: the run's id; with --wait its outcome, and exit code 0 only if it succeeded.
import type { Command } from 'commander';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { isFinished } from '../../model/states.js';
import { stopSignal } from '../../shell/stop-signal.js';
import type { RunRecord } from '../../store/reads.js';
import type { Tock } from '../../tock.js';
import { count, examples, instant, withJson } from '../flags.js';
import { didYouMean } from '../nearest.js';
import { readPayload } from '../payload-source.js';
import { errorLine, nameOf, nextStep, tookText } from '../run-text.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { cleanLine, jsonText, paint, paintStatus } from '../terminal.js';
import { createWaitView, type WaitView } from '../wait-view.js';

interface RunFlags extends CommonOptions {
  readonly payload?: string;
  readonly key?: string;
  readonly at?: Date;
  readonly wait?: true;
  readonly queue?: string;
  readonly priority?: number;
  readonly maxAttempts?: number;
}

export function addRun(program: Command): Command {
  return withJson(program.command('run'))
    .summary('enqueue a run of a job, and perhaps see it through')
    .description(
      'Enqueues one run of a job and prints its id. With --wait it is executed here, unless a worker is faster, and the outcome is printed.',
    )
    .argument('<job>', 'name of the job')
    .option('--payload <json>', 'JSON; @file reads a file, - reads standard input (default {})')
    .option('--key <key>', 'identity of what the run stands for: at most one run, ever')
    .option('--at <instant>', 'not before this, such as 2026-03-08T07:30:00Z (default now)', instant)
    .option('--wait', 'wait until it has ended; exit code 0 if it succeeded, else 1')
    .option('--queue <queue>', 'in place of the job’s own')
    .option('--priority <n>', 'lower goes first', count(-2_147_483_648, 2_147_483_647))
    .option('--max-attempts <n>', 'in place of the job’s own', count(1, 1_000_000))
    .addHelpText(
      'after',
      examples(
        ['tock run weekly-run-report --wait', 'execute it and see'],
        [`tock run deliver-webhook --payload '{"id": 7}'`, 'with a payload'],
        [
          'tock run deliver-webhook --payload @event.json --key event:7',
          'once, however often this is called',
        ],
      ),
    )
    .action(action(run));
}

async function run(shell: Shell, flags: RunFlags, name: string): Promise<number> {
  const payload = await readPayload(flags.payload);
  // Before anything is opened: a wrong name needs no database to be told.
  const { loadJobs } = await import('../../shell/job-module.js');
  const jobs = await loadJobs(shell.config.jobsModule);
  const names = jobs.map(job => job.name);
  if (!names.includes(name)) {
    throw new TockError(
      'TOCK_UNKNOWN_JOB',
      `there is no job ${quote(name)}${didYouMean(name, names) || `; there are ${names.join(', ') || 'none'}`}`,
    );
  }
  const stop = flags.wait ? stopSignal() : null;
  return await withTock(shell, {}, async ({ tock }) => {
    const { id, isNew } = await enqueue(tock, name, payload, flags);
    if (stop) return await seeThrough(shell, tock, id, isNew, stop);
    const made = await tock.runs.get(id);
    shell.document({ id, isNew, run: made });
    if (isNew)
      shell.say(
        `enqueued run ${paint('bold', id)} of ${cleanLine(name)}${made ? `: ${nextStep(made)}` : ''}`,
      );
    else
      shell.say(
        `${keyUsed(flags, id)}${made ? `, which is ${paintStatus(made.status)}` : ', which has been pruned'}`,
      );
    return 0;
  });
}

function keyUsed({ key }: RunFlags, id: string): string {
  return `nothing was enqueued: the key ${quote(cleanLine(key ?? ''))} belongs to run ${paint('bold', id)}`;
}

async function enqueue(
  tock: Tock,
  job: string,
  payload: unknown,
  flags: RunFlags,
): Promise<{ id: string; isNew: boolean }> {
  const [made] = await tock.enqueueAll([
    {
      job,
      payload,
      trigger: 'manual',
      ...(flags.key === undefined ? {} : { key: flags.key }),
      ...(flags.at === undefined ? {} : { runAt: flags.at }),
      ...(flags.queue === undefined ? {} : { queue: flags.queue }),
      ...(flags.priority === undefined ? {} : { priority: flags.priority }),
      ...(flags.maxAttempts === undefined ? {} : { maxAttempts: flags.maxAttempts }),
    },
  ]);
  if (!made) throw new TockError('TOCK_BAD_STATE', 'nothing was enqueued');
  return made;
}

async function seeThrough(
  shell: Shell,
  tock: Tock,
  id: string,
  isNew: boolean,
  signal: AbortSignal,
): Promise<number> {
  const view = createWaitView(shell);
  const run = await outcome(tock, id, view, signal).finally(view.end);
  shell.document({ id, isNew, run });
  if (isFinished(run.status)) sayOutcome(shell, run);
  else shell.note(`stopped waiting; run ${id} is ${run.status}: ${nextStep(run)}`);
  return run.status === 'succeeded' ? 0 : 1;
}

/** The run when it has ended; or as it was left when somebody stopped waiting. */
async function outcome(tock: Tock, id: string, view: WaitView, signal: AbortSignal): Promise<RunRecord> {
  try {
    return await tock.runs.wait(id, { onChange: view.show, signal });
  } catch (error) {
    const left = signal.aborted ? await tock.runs.get(id) : null;
    if (left === null) throw error;
    return left;
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
  if (run.status === 'dead') shell.say(paint('dim', `  more: tock show ${run.id} --stack`));
  if (run.output !== null && run.output !== undefined) shell.say(jsonText(run.output, 2));
}
