// `tock retry` and `tock cancel`. Exit code 1 if any run failed.
import type { Command } from 'commander';
import { readHoldingQueue } from '../../../answers/queues.js';
import { TockError } from '../../../model/errors.js';
import type { RunMatch } from '../../../model/run/match/run-match.js';
import type { RetryRate } from '../../../model/run/run-methods.js';
import type { RunRecord } from '../../../model/run/run-record.js';
import { LIVE_STATUSES, TRANSITIONS } from '../../../model/run/states.js';
import { judgeError } from '../../../runtime/exit-codes.js';
import { databaseOf } from '../../../tock/database-of.js';
import type { Tock } from '../../../tock/types.js';
import { actOnMany, isByFilter, type ManyCall, type ManyFlags } from '../../act-on-many.js';
import { withFilter } from '../../flags/filter-flags.js';
import { checkRunId, count, examples, rate, withJson } from '../../flags/flags.js';
import { action, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint, paintStatus } from '../../terminal.js';

interface RetryFlags extends ManyFlags {
  readonly attempts?: number;
  readonly rate?: RetryRate;
}

interface CancelFlags extends ManyFlags {
  readonly reason?: string;
}

export function addRetry(program: Command): Command {
  return withMany(program.command('retry'), 'dead, cancelled (default dead)')
    .summary('put dead or cancelled runs back into the queue')
    .description(
      'Puts dead or cancelled runs back into the queue, due now, with a full set of attempts again. Their earlier errors are kept.',
    )
    .argument('[run...]', 'run ids; or use a filter')
    .option('--attempts <n>', 'how many more attempts', count(1, 1_000_000))
    .option('--rate <n/duration>', 'with a filter: at most so many start per period, such as 5/s', rate)
    .addHelpText(
      'after',
      examples(
        ['tock retry 812', 'one run'],
        ['tock retry 812 813 --attempts 1', 'two runs, one more attempt each'],
        ['tock retry --status dead --job deliver-webhook', 'all dead runs of a job; asks first'],
        ['tock retry --from yesterday --to today', 'what died yesterday'],
        ["tock retry --error '535' --rate 5/s", 'those of one error, five a second; new runs are not slowed'],
      ),
    )
    .action(
      action(async (shell: Shell, { attempts, rate: pace, ...flags }: RetryFlags, ids: string[]) => {
        const options = attempts === undefined ? {} : { attempts };
        if (isByFilter('retry', flags, ids)) {
          const { from } = TRANSITIONS.retry;
          const many = { ...options, ...(pace === undefined ? {} : { rate: pace }) };
          const act = async (tock: Tock, match: RunMatch, call: ManyCall) =>
            await tock.runs.retryMany(match, { ...many, ...call });
          return await actOnMany(shell, flags, {
            verb: 'retry',
            from,
            defaultFrom: ['dead'],
            act,
            ...many,
          });
        }
        if (pace !== undefined)
          throw new TockError(
            'TOCK_BAD_OPTION',
            `--rate needs a filter: runs by their ids are due at once (see tock retry --help)`,
          );
        return await forEach(shell, ids, async (tock, id) => {
          const run = await tock.runs.retry(id, options);
          const queue = await readHoldingQueue(await databaseOf(tock), run.queue);
          const paused =
            (queue?.pausedAt ?? null) === null
              ? ''
              : `; its queue ${cleanLine(run.queue)} is paused, so it waits`;
          return {
            run,
            text: `is ${paintStatus(run.status)} again: attempt ${run.attempts + 1} of ${run.maxAttempts} is due now${paused}`,
          };
        });
      }),
    );
}

export function addCancel(program: Command): Command {
  return withMany(program.command('cancel'), 'queued, failed, running (default queued,failed)')
    .summary('cancel runs, or ask running ones to stop')
    .description(
      'Cancels waiting runs at once. Asks the handlers of running ones to stop, through their signal.',
    )
    .argument('[run...]', 'run ids; or use a filter')
    .option('--reason <text>', 'kept with the run')
    .addHelpText(
      'after',
      examples(
        ['tock cancel 812', 'one run'],
        ["tock cancel 812 --reason 'wrong month'", 'with a reason'],
        ['tock cancel --status queued --job deliver-webhook --yes', 'all that wait, in a script'],
      ),
    )
    .action(
      action(async (shell: Shell, { reason, ...flags }: CancelFlags, ids: string[]) => {
        const options = reason === undefined ? {} : { reason };
        if (isByFilter('cancel', flags, ids)) {
          const defaultFrom = TRANSITIONS.cancel.from;
          const act = async (tock: Tock, match: RunMatch, call: ManyCall) =>
            await tock.runs.cancelMany(match, { ...options, ...call });
          return await actOnMany(shell, flags, { verb: 'cancel', from: LIVE_STATUSES, defaultFrom, act });
        }
        return await forEach(shell, ids, async (tock, id) => {
          const run = await tock.runs.cancel(id, options);
          const holder = run.worker === null ? 'its handler' : `its handler on ${cleanLine(run.worker)}`;
          const running =
            run.handOff === null
              ? `is ${run.status}: ${holder} was asked to stop`
              : 'is handed off: the next tick cancels it (tock tick)';
          const text = run.status === 'cancelled' ? `is ${paintStatus(run.status)}` : running;
          return { run, text };
        });
      }),
    );
}

function withMany(command: Command, states: string): Command {
  return withFilter(withJson(command), states)
    .option('--limit <n>', 'at most this many, oldest first', count(1, 1_000_000))
    .option('--yes', 'do not ask; required without a terminal');
}

interface Done {
  readonly run: RunRecord;
  readonly text: string;
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
        const { run, text } = await act(tock, id);
        results.push({ id, ok: true, run });
        shell.say(`run ${id} of ${paint('bold', cleanLine(run.job))} ${text}`);
      } catch (error) {
        const { code, message, exitCode } = judgeError(error, shell.config.schema);
        // Without a database the other runs would fail too.
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
