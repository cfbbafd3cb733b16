// `tock zones`: which time zone data the hosts have, and what newer ones move.
import type { Command } from 'commander';
import { formatSpan } from '../../../model/duration.js';
import { utcText } from '../../../model/schedule/instant-text.js';
import type { ZonePreview, ZoneState, ZonesReport } from '../../../model/schedule/zone/zones-report.js';
import { examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { countText } from '../../views/load-chart.js';

export function addZones(program: Command): Command {
  return withJson(program.command('zones'))
    .summary('which time zone data hosts have, and what newer data move')
    .description(
      'Shows the release of the time zone data of this host and of all that tick, and by which release the stored times were computed. If those of this host are newer, it shows which definitions they move; the next tick of this host moves them. Only reads: run it with a new version of Node before you install that everywhere.',
    )
    .addHelpText(
      'after',
      examples(
        ['tock zones', 'what would move'],
        ["tock zones --json | jq '.zones[] | select(.preview)'", 'the same, for a script'],
      ),
    )
    .action(action(zones));
}

async function zones(shell: Shell, _flags: CommonOptions): Promise<number> {
  return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) => {
    const report = await tock.zones();
    shell.document(report);
    if (!shell.json) sayZones(shell, report);
    return 0;
  });
}

function sayZones(shell: Shell, { zoneData, hosts, zones: all }: ZonesReport): void {
  shell.say(`this host has time zone data ${paint('bold', zoneData || 'unknown')}`);
  for (const each of hosts)
    shell.say(`  ${cleanLine(each.host)} has ${each.zoneData}, as of ${utcText(each.at)}`);
  if (all.length === 0) {
    shell.say('no definition has had a time zone but UTC');
    return;
  }
  for (const [release, count] of countsByRelease(all))
    shell.say(`${countText(count)} ${count === 1 ? 'zone is' : 'zones are'} computed by ${release}`);
  for (const { timezone, zoneData: held, lastChange } of all)
    if (lastChange !== null)
      shell.say(
        `  ${timezone}: ${lastChange.from} → ${held} at ${utcText(lastChange.at)} moved ${definitionsText(lastChange.definitions)}`,
      );
  const moving = all.flatMap(({ timezone, preview }) => (preview === null ? [] : [{ timezone, preview }]));
  for (const { timezone, preview } of moving) shell.say(paint('yellow', previewText(timezone, preview)));
  if (moving.length === 0) shell.say(paint('green', 'nothing moves by the data of this host'));
}

function countsByRelease(all: readonly ZoneState[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { zoneData } of all) counts.set(zoneData, (counts.get(zoneData) ?? 0) + 1);
  return counts;
}

const definitionsText = (count: number) =>
  `${countText(count)} ${count === 1 ? 'definition' : 'definitions'}`;

function previewText(timezone: string, { from, byMs, definitions, nextMoves }: ZonePreview): string {
  const verb = definitions === 1 ? 'moves' : 'move';
  const way = `${formatSpan(Math.abs(byMs))} ${byMs < 0 ? 'earlier' : 'later'}`;
  const next = nextMoves === 0 ? '' : `; ${countText(nextMoves)} of them with the next occurrence`;
  return `${definitionsText(definitions)} in ${timezone} ${verb} by ${way}, from ${utcText(from)} on${next}`;
}
