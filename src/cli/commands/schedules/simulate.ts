// `tock simulate`: the load that the definitions would cause.
import type { Command } from 'commander';
import { type Peak, type Simulation, simulate } from '../../../model/planning/simulate.js';
import { findZone } from '../../../model/schedule/zone/zone.js';
import { examples, instant, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell } from '../../shell.js';
import { findSimulated, type Simulated } from '../../simulated-definitions.js';
import { cleanLine, paint } from '../../terminal.js';
import { countText } from '../../views/load-chart.js';
import { sayEffects } from '../../views/plan/effects.js';
import { drawBusiest, drawHours, localText as local } from '../../views/plan/load-text.js';

interface SimulateFlags extends CommonOptions {
  readonly from?: Date;
  readonly to?: Date;
  readonly definition?: readonly string[];
  readonly timezone?: string;
}

const DAY_MS = 86_400_000;

export function addSimulate(program: Command): Command {
  return withJson(program.command('simulate'))
    .summary('the load per hour that the definitions would cause')
    .description(
      'Draws how many runs would start in each hour, lists the busiest minutes, and shows what jitter does to them. Uses the definitions in code and, if there is a database, those in it, with windows, overlap, chains, limits, exceptions, and how long the last runs took. Executes and writes nothing. tock plan shows what this code would change.',
    )
    .option('--from <instant>', 'included (default now)', instant)
    .option('--to <instant>', 'excluded (default 24 hours after --from)', instant)
    .option(
      '--definition <name>',
      'only this definition; may be repeated',
      (name: string, before: string[] | undefined) => [...(before ?? []), name],
    )
    .option('--timezone <zone>', 'IANA name, for the hours that are shown (default UTC)')
    .addHelpText(
      'after',
      examples(
        ['tock simulate', 'the next 24 hours'],
        ['tock simulate --from 2026-03-01T00:00:00Z --to 2026-04-01T00:00:00Z', 'a month, by day'],
        ['tock simulate --definition close-the-day --timezone Europe/Berlin', 'one definition'],
      ),
    )
    .action(action(simulateCommand));
}

async function simulateCommand(shell: Shell, flags: SimulateFlags): Promise<number> {
  const { timezone = 'UTC' } = flags;
  const from = flags.from ?? new Date();
  const to = flags.to ?? new Date(from.getTime() + DAY_MS);
  findZone(timezone);
  const found = await findSimulated(shell, flags.definition ?? []);
  const simulation = simulate(found.definitions, { from, to, timezone }, found.limits);
  shell.document({ ...simulation, leftOut: found.leftOut });
  if (shell.json) return 0;
  sayHead(shell, simulation, found);
  if (simulation.starts > 0) {
    shell.say(drawHours(simulation, timezone));
    shell.say(`\n${await drawBusiest(simulation, timezone)}`);
    sayPeaks(shell, simulation);
    sayEffects(shell, simulation);
  }
  return 0;
}

function sayHead(
  shell: Shell,
  { from, to, timezone, definitions, starts, deferred, skipped }: Simulation,
  { leftOut }: Simulated,
): void {
  const window = `from ${local(from, timezone)} to ${local(to, timezone)} (${timezone})`;
  shell.say(
    `${paint('bold', `${countText(starts)} ${starts === 1 ? 'run' : 'runs'}`)} of ${countText(definitions)} ${definitions === 1 ? 'definition' : 'definitions'} would start ${window}`,
  );
  if (deferred > 0)
    shell.say(
      `${countText(deferred)} ${deferred === 1 ? 'is' : 'are'} put off to the opening of their window`,
    );
  if (skipped > 0)
    shell.say(
      `${countText(skipped)} ${skipped === 1 ? 'occurrence gives' : 'occurrences give'} no run: outside their window`,
    );
  for (const { name, reason } of leftOut) shell.say(paint('dim', `left out: ${cleanLine(name)} (${reason})`));
}

function sayPeaks(shell: Shell, { peaks, timezone }: Simulation): void {
  const line = (name: string, { perMinute, minute }: Peak) =>
    `  ${name.padEnd(30)}  ${countText(perMinute)}${minute === null ? '' : `, at ${local(minute, timezone)}`}`;
  shell.say(`\n${paint('bold', 'maximum of runs that are due in one minute')}`);
  shell.say(line('without jitter', peaks.withoutJitter));
  shell.say(line('with the definitions’ jitter', peaks.asDefined));
  shell.say(line('with a jitter of 5m for all', peaks.jitterForAll));
}
