// Shell: cli. `tock retry` and `tock cancel`: what an operator does to runs.
// In: ids. Out: a line per run that says what happened; exit code 1 if it failed for any.
import type { Command } from 'commander';
import { judgeError } from '../../shell/exit-codes.js';
import type { RunRecord } from '../../store/reads.js';
import type { Tock } from '../../tock.js';
import { checkRunId, count, examples, withJson } from '../flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { cleanLine, paint, paintStatus } from '../terminal.js';

interface RetryFlags extends CommonOptions {
  readonly attempts?: number;
}

interface CancelFlags extends CommonOptions {
  readonly reason?: string;
}

export function addRetry(program: Command): Command {
  return withJson(program.command('retry'))
    .summary('put dead or cancelled runs back into the queue')
    .description(
      'Puts dead or cancelled runs back into the queue, due now, with as many more attempts as their job has. Their earlier errors stay on record.',
    )
    .argument('<run...>', 'ids of runs')
    .option('--attempts <n>', 'how many more attempts', count(1, 1_000_000))
    .addHelpText(
      'after',
      examples(
        ['tock retry 812', 'one run'],
        ['tock retry 812 813 --attempts 1', 'two, one more attempt each'],
      ),
    )
    .action(
      action(async (shell: Shell, { attempts }: RetryFlags, ids: string[]) => {
        const options = attempts === undefined ? {} : { attempts };
        return await forEach(shell, ids, async (tock, id) => {
          const run = await tock.runs.retry(id, options);
          return {
            run,
            said: `is ${paintStatus(run.status)} again: attempt ${run.attempts + 1} of ${run.maxAttempts} is due now`,
          };
        });
      }),
    );
}

export function addCancel(program: Command): Command {
  return withJson(program.command('cancel'))
    .summary('cancel runs, or ask running ones to stop')
    .description(
      'Cancels runs: at once those that wait; of those that are running the handler is asked to stop, through its signal.',
    )
    .argument('<run...>', 'ids of runs')
    .option('--reason <text>', 'kept with the run')
    .addHelpText(
      'after',
      examples(['tock cancel 812', 'one run'], ["tock cancel 812 --reason 'wrong month'", 'and say why']),
    )
    .action(
      action(async (shell: Shell, { reason }: CancelFlags, ids: string[]) => {
        const options = reason === undefined ? {} : { reason };
        return await forEach(shell, ids, async (tock, id) => {
          const run = await tock.runs.cancel(id, options);
          const holder = run.worker === null ? 'its handler' : `its handler on ${cleanLine(run.worker)}`;
          const said =
            run.status === 'cancelled'
              ? `is ${paintStatus(run.status)}`
              : `is ${run.status}: ${holder} was asked to stop`;
          return { run, said };
        });
      }),
    );
}

interface Done {
  readonly run: RunRecord;
  readonly said: string;
}

async function forEach(
  shell: Shell,
  ids: readonly string[],
  act: (tock: Tock, id: string) => Promise<Done>,
): Promise<number> {
  const checked = ids.map(checkRunId);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const results = [];
    let failures = 0;
    for (const id of checked) {
      try {
        const { run, said } = await act(tock, id);
        results.push({ id, ok: true, run });
        shell.say(`run ${id} of ${paint('bold', cleanLine(run.job))} ${said}`);
      } catch (error) {
        const { code, message, exitCode } = judgeError(error, shell.config.schema);
        // Without a database the others cannot succeed either.
        if (exitCode === 3) throw error;
        failures++;
        results.push({ id, ok: false, error: { code, message } });
        if (!shell.json) shell.note(message);
      }
    }
    shell.document({ runs: results });
    return failures === 0 ? 0 : 1;
  });
}
