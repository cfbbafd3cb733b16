// `tock plan`: what the schedules of this code would change, before it is deployed.
import type { Command } from 'commander';
import { TockError } from '../../../model/errors.js';
import { count, examples, instant, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';

interface PlanFlags extends CommonOptions {
  readonly from?: Date;
  readonly to?: Date;
  readonly days?: number;
  readonly timezone?: string;
  readonly maxStartsPerMinute?: number;
  /** Commander turns `--no-vanishing` into false. */
  readonly vanishing: boolean;
  readonly check?: boolean;
  readonly markdown?: boolean;
}

const MAX_DAYS = 366;
const MAX_STARTS = 10_000_000;

export function addPlan(program: Command): Command {
  return withJson(program.command('plan'))
    .summary('what the schedules of this code would change')
    .description(
      'Compares the schedules of the code with those in the database: which occurrences appear, vanish and move. Simulates both: the busiest minutes, runs that are skipped for overlap, and runs that start late, with jitter, windows, chains, exceptions, limits, and how long the last runs took. Only reads: run it in CI, on the branch that is to be deployed.',
    )
    .option('--from <instant>', 'included (default now)', instant)
    .option('--to <instant>', 'excluded (default 7 days after --from)', instant)
    .option('--days <n>', 'in place of --to: so many days after --from', count(1, MAX_DAYS))
    .option('--timezone <zone>', 'IANA name, for the times of all definitions (default UTC)')
    .option('--max-starts-per-minute <n>', 'fail if more runs start in one minute', count(1, MAX_STARTS))
    .option('--no-vanishing', 'fail if an occurrence vanishes, or a definition')
    .option('--check', 'also predict the past days, as many as are planned, and compare with what came')
    .option('--markdown', 'Markdown, for a comment on a pull request')
    .addHelpText(
      'after',
      `\nExit code 1 if --max-starts-per-minute or --no-vanishing is broken.\n${examples(
        ['tock plan', 'the next seven days'],
        ['tock plan --max-starts-per-minute 200 --no-vanishing --markdown', 'in CI'],
        ['tock plan --days 30 --check', 'a month, and how good such a prediction was'],
      )}`,
    )
    .action(action(planCommand));
}

async function planCommand(shell: Shell, flags: PlanFlags): Promise<number> {
  const { from, to, days, timezone = 'UTC', maxStartsPerMinute, vanishing } = flags;
  const { markdown = false, check = false } = flags;
  if (to !== undefined && days !== undefined)
    throw new TockError('TOCK_BAD_OPTION', 'give --days or --to, not both');
  if (markdown && shell.json) throw new TockError('TOCK_BAD_OPTION', 'give --markdown or --json, not both');
  return await withTock(shell, { onlyReads: true }, async ({ tock }) => {
    const plan = await tock.plan({
      timezone,
      check,
      noVanishing: !vanishing,
      ...(from && { from }),
      ...(to && { to }),
      ...(days !== undefined && { days }),
      ...(maxStartsPerMinute !== undefined && { maxStartsPerMinute }),
    });
    shell.document(plan);
    if (markdown) {
      const { planMarkdown } = await import('../../views/plan/plan-markdown.js');
      shell.say(planMarkdown(plan));
    } else if (!shell.json) {
      const { sayPlan } = await import('../../views/plan/plan-text.js');
      await sayPlan(shell, plan);
    }
    for (const { text } of plan.broken) shell.note(text);
    return plan.broken.length === 0 ? 0 : 1;
  });
}
