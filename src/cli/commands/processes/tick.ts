// `tock tick`: one tick by hand, the same as dist/tick.js.
import type { Command } from 'commander';
import { readIdle } from '../../../model/sleep/sleep.js';
import { stopSignal } from '../../../runtime/stop-signal.js';
import { ALLOW_VANISHING, EMBEDDED, IDLE, SERVICE } from '../../flags/common-flags.js';
import { count, duration, examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, infoInTerminal, type Shell, withTock } from '../../shell.js';
import { cleanLine } from '../../terminal.js';
import { noteMisspelt } from '../../unknown-names.js';

interface TickFlags extends CommonOptions {
  readonly budget?: string;
  readonly concurrency?: number;
  readonly idle?: string;
  readonly migrate?: true;
}

export function addTick(program: Command): Command {
  return withJson(program.command('tick'))
    .summary('make one tick: plan what is due, execute it, end')
    .description(
      'Makes one tick: registers changed definitions, takes back runs with expired leases, turns due occurrences into runs, and executes runs until nothing is due or the budget is over. The line in the crontab does the same.',
    )
    .option('--budget <duration>', 'how long new runs are claimed (default 50s, or TOCK_BUDGET)', duration)
    .option(
      '--concurrency <n>',
      'maximum number of runs at once (default 10, or TOCK_CONCURRENCY)',
      count(1, 10_000),
    )
    .option(...IDLE)
    .option('--migrate', 'bring the schema to this version first')
    .option(...EMBEDDED)
    .option(...SERVICE)
    .option(...ALLOW_VANISHING)
    .addHelpText(
      'after',
      examples(
        ['tock tick', 'execute what is due'],
        ['tock tick --budget 10s --concurrency 2', 'a short tick, two runs at once'],
      ),
    )
    .action(action(tick));
}

async function tick(shell: Shell, flags: TickFlags): Promise<number> {
  const { config } = shell;
  noteMisspelt(shell);
  const stop = stopSignal();
  const concurrency = flags.concurrency ?? config.concurrency;
  const call = {
    budget: flags.budget ?? config.budget ?? '50s',
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(config.queues === undefined ? {} : { queues: config.queues }),
    signal: stop,
  };
  const options = {
    migrate: flags.migrate === true,
    // By hand it looks, whatever TOCK_IDLE says.
    ...(flags.idle === undefined ? {} : { tick: call, idleMs: readIdle(flags.idle, '--idle') }),
    ...infoInTerminal(),
  };
  return await withTock(shell, options, async ({ tock, jobs, idle, settle, where }) => {
    const { underCrashGuard } = await import('../../../runtime/crash-guard.js');
    const done = idle ?? (await underCrashGuard({ name: 'tock tick', tock, stop }, () => tock.tick(call)));
    const asleepUntil = await settle(done);
    const summary = asleepUntil === null ? done : { ...done, asleepUntil };
    const { summaryLine } = await import('../../../runtime/summary-line.js');
    shell.say(cleanLine(summaryLine(summary, jobs.length, where)));
    shell.document(summary);
    return 0;
  });
}
