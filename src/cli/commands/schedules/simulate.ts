// `tock simulate`: the load that the definitions would cause.
import type { Command } from 'commander';
import { civilText } from '../../../model/explain/asked-time.js';
import { type Peak, type Simulation, simulate } from '../../../model/planning/simulate.js';
import { findZone } from '../../../model/schedule/zone/zone.js';
import { examples, instant, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell } from '../../shell.js';
import { findSimulated, type Simulated } from '../../simulated-definitions.js';
import { cleanLine, paint } from '../../terminal.js';
import { countText, drawLoad } from '../../views/load-chart.js';
import { drawTable } from '../../views/table.js';

interface SimulateFlags extends CommonOptions {
  readonly from?: Date;
  readonly to?: Date;
  readonly definition?: readonly string[];
  readonly timezone?: string;
}

const DAY_MS = 86_400_000;
/** A longer time span is drawn by day. */
const MAX_HOURS = 72;
const MAX_NAMES = 4;

export function addSimulate(program: Command): Command {
  return withJson(program.command('simulate'))
    .summary('the load per hour that the definitions would cause')
    .description(
      'Draws how many runs would start in each hour, lists the busiest minutes, and shows what jitter does to them. Uses the definitions in code and, if there is a database, those in it. Respects windows of definitions; ignores chains, overlap and limits. Executes and writes nothing.',
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
  const simulation = simulate(found.definitions, { from, to, timezone });
  shell.document({ ...simulation, leftOut: found.leftOut });
  if (shell.json) return 0;
  sayHead(shell, simulation, found);
  if (simulation.starts > 0) {
    shell.say(drawLoad(barsOf(simulation)));
    await sayBusiest(shell, simulation);
    sayPeaks(shell, simulation);
  }
  return 0;
}

function local(date: Date, timezone: string): string {
  const second = Math.floor(date.getTime() / 1000);
  return civilText(second + findZone(timezone).segmentAt(second).offset);
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
  if (deferred > 0) shell.say(`${countText(deferred)} of them are put off to the opening of their window`);
  if (skipped > 0)
    shell.say(
      `${countText(skipped)} ${skipped === 1 ? 'occurrence gives' : 'occurrences give'} no run: outside their window`,
    );
  for (const { name, reason } of leftOut) shell.say(paint('dim', `left out: ${cleanLine(name)} (${reason})`));
}

function barsOf({ hours, timezone }: Simulation): { label: string; count: number }[] {
  if (hours.length <= MAX_HOURS)
    return hours.map(({ start, count }) => ({ label: local(start, timezone), count }));
  const days = new Map<string, number>();
  for (const { start, count } of hours) {
    const day = local(start, timezone).slice(0, 10);
    days.set(day, (days.get(day) ?? 0) + count);
  }
  return [...days].map(([label, count]) => ({ label, count }));
}

async function sayBusiest(shell: Shell, { busiest, timezone }: Simulation): Promise<void> {
  const columns = [
    { title: 'busiest minutes' },
    { title: 'runs', align: 'right' as const },
    { title: 'definitions', flexible: true },
  ];
  const rows = busiest.map(({ minute, count, definitions }) => {
    const names = definitions.map(each => (each.count > 1 ? `${each.name} × ${each.count}` : each.name));
    const more = names.length > MAX_NAMES ? `, and ${names.length - MAX_NAMES} more` : '';
    return [local(minute, timezone), countText(count), `${names.slice(0, MAX_NAMES).join(', ')}${more}`];
  });
  shell.say(`\n${await drawTable(columns, rows)}`);
}

function sayPeaks(shell: Shell, { peaks, timezone }: Simulation): void {
  const line = (name: string, { perMinute, minute }: Peak) =>
    `  ${name.padEnd(30)}  ${countText(perMinute)}${minute === null ? '' : `, at ${local(minute, timezone)}`}`;
  shell.say(`\n${paint('bold', 'maximum of runs in one minute')}`);
  shell.say(line('without jitter', peaks.withoutJitter));
  shell.say(line('with the definitions’ jitter', peaks.asDefined));
  shell.say(line('with a jitter of 5m for all', peaks.jitterForAll));
}
