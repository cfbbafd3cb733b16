// Shell: cli. `tock retry` and `tock cancel`: what an operator does to runs.
// In: ids, or a filter. Out: a line per run that says what happened, or how many; exit code 1 if it failed for any.
import type { Command } from 'commander';
import { LIVE_STATUSES, TRANSITIONS } from '../../model/run/states.js';
import { judgeError } from '../../runtime/exit-codes.js';
import type { RunRecord } from '../../store/reads/runs.js';
import type { Tock } from '../../tock/types.js';
import { actOnMany, isByFilter, type ManyFlags } from '../act-on-many.js';
import { checkRunId, count, examples, statuses, withJson } from '../flags/flags.js';
import { action, type Shell, withTock } from '../shell.js';
import { cleanLine, paint, paintStatus } from '../terminal.js';

interface RetryFlags extends ManyFlags {
  readonly attempts?: number;
}

interface CancelFlags extends ManyFlags {
  readonly reason?: string;
}

export function addRetry(program: Command): Command {
  return withFilter(program.command('retry'), 'dead, cancelled (default dead)')
    .summary('put dead or cancelled runs back into the queue')
    .description(
      'Puts dead or cancelled runs back into the queue, due now, with as many more attempts as their job has. Their earlier errors stay on record.',
    )
    .argument('[run...]', 'ids of runs; or choose them with a filter')
    .option('--attempts <n>', 'how many more attempts', count(1, 1_000_000))
    .addHelpText(
      'after',
      examples(
        ['tock retry 812', 'one run'],
        ['tock retry 812 813 --attempts 1', 'two, one more attempt each'],
        ['tock retry --status dead --job deliver-webhook', 'all dead ones of a job, after a question'],
      ),
    )
    .action(
      action(async (shell: Shell, { attempts, ...flags }: RetryFlags, ids: string[]) => {
        const options = attempts === undefined ? {} : { attempts };
        if (isByFilter('retry', flags, ids)) {
          const { from } = TRANSITIONS.retry;
          const act = async (tock: Tock, id: string) => await tock.runs.retry(id, options);
          return await actOnMany(shell, flags, { verb: 'retry', from, usual: ['dead'], act });
        }
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
  return withFilter(program.command('cancel'), 'queued, failed, running (default queued,failed)')
    .summary('cancel runs, or ask running ones to stop')
    .description(
      'Cancels runs: at once those that wait; of those that are running the handler is asked to stop, through its signal.',
    )
    .argument('[run...]', 'ids of runs; or choose them with a filter')
    .option('--reason <text>', 'kept with the run')
    .addHelpText(
      'after',
      examples(
        ['tock cancel 812', 'one run'],
        ["tock cancel 812 --reason 'wrong month'", 'and say why'],
        ['tock cancel --status queued --job deliver-webhook --yes', 'all that wait, for a script'],
      ),
    )
    .action(
      action(async (shell: Shell, { reason, ...flags }: CancelFlags, ids: string[]) => {
        const options = reason === undefined ? {} : { reason };
        if (isByFilter('cancel', flags, ids)) {
          const usual = TRANSITIONS.cancel.from;
          const act = async (tock: Tock, id: string) => await tock.runs.cancel(id, options);
          return await actOnMany(shell, flags, { verb: 'cancel', from: LIVE_STATUSES, usual, act });
        }
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

function withFilter(command: Command, which: string): Command {
  return withJson(command)
    .option('--status <status>', `all runs in this state: ${which}`, statuses)
    .option('--job <job>', 'all runs of this job')
    .option('--definition <name>', 'all runs that this definition planned')
    .option('--limit <n>', 'at most so many, the oldest first', count(1, 1_000_000))
    .option('--yes', 'do not ask; needed where there is no terminal');
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
