// `tock schema`: what the schema holds, how large it is, whose it is, and which migrations are applied.
import type { Command } from 'commander';
import { packageVersion } from '../../../environment/paths.js';
import { utcText } from '../../../model/schedule/instant-text.js';
import type { PartitionSize, SchemaDescription } from '../../../store/schema/describe-schema.js';
import { databaseOf } from '../../../tock/database-of.js';
import { examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { counted, sizeText } from '../../views/size-text.js';
import { type Cell, drawTable } from '../../views/table.js';

export function addSchema(program: Command): Command {
  return withJson(program.command('schema'))
    .summary('show the tables, their sizes and the migrations')
    .description(
      'Shows the schema: its tables with their sizes and estimated rows, the partitions, the owner, and which migrations are applied. Reads catalogues and statistics, so it takes no longer for a large history. Changes nothing.',
    )
    .addHelpText(
      'after',
      examples(
        ['tock schema', 'the schema named by TOCK_SCHEMA'],
        ["tock schema --json | jq '.tables[] | [.table, .bytes]'", 'for a monitor'],
      ),
    )
    .action(action(schema));
}

async function schema(shell: Shell, _flags: CommonOptions): Promise<number> {
  const options = { migrate: 'unchecked', needsJobs: false } as const;
  return await withTock(shell, options, async ({ tock, where }) => {
    const { describeSchema } = await import('../../../store/schema/describe-schema.js');
    const described = await describeSchema(await databaseOf(tock));
    shell.document({ ...described, version: packageVersion() });
    shell.say(paint('bold', `schema ${described.schema} on ${cleanLine(where)}`));
    for (const [name, value] of facts(described)) shell.say(`  ${paint('dim', name.padEnd(10))}  ${value}`);
    if (!shell.json) await sayTables(shell, described);
    return 0;
  });
}

function facts(described: SchemaDescription): (readonly [string, string])[] {
  const { owner, server, bytes, databaseBytes, tables, partitions } = described;
  return [
    ['owner', cleanLine(owner)],
    ['version', versionText(described)],
    ['size', `${sizeText(bytes)} of ${sizeText(databaseBytes)} in the database, with indexes`],
    ['tables', `${tables.length}, and ${counted(partitions.length, 'partition')}`],
    ['server', `PostgreSQL ${cleanLine(server)}`],
  ];
}

function versionText({ migrations }: SchemaDescription): string {
  const named = (state: string) => migrations.filter(each => each.state === state).map(({ name }) => name);
  const [missing, changed, newer] = [named('missing'), named('changed'), named('newer')];
  if (missing.length > 0)
    return paint('red', `lacks ${missing.join(', ')}; run: tock migrate (or tock migrate --sql)`);
  if (changed.length > 0)
    return paint('red', `${changed.join(', ')} was changed after it had been applied; restore that file`);
  if (newer.length > 0)
    return paint('yellow', `newer than this Tock ${packageVersion()}: ${cleanLine(newer.join(', '))}`);
  return `${counted(migrations.length, 'migration')} applied; up to date with Tock ${packageVersion()}`;
}

const NUMBER = { align: 'right' as const };
const SIZES = [
  { title: 'rows (estimate)', ...NUMBER },
  { title: 'size', ...NUMBER },
  { title: 'indexes', ...NUMBER },
];

async function sayTables(shell: Shell, { tables, partitions, migrations }: SchemaDescription): Promise<void> {
  const sizes = (each: { rows: number; bytes: number; indexBytes: number }): Cell[] => [
    Math.round(each.rows).toLocaleString('en'),
    sizeText(each.bytes),
    sizeText(each.indexBytes),
  ];
  const ofTables = tables.map(each => [
    each.table,
    ...sizes(each),
    each.partitions === null ? '' : counted(each.partitions, 'partition'),
  ]);
  const columns = [{ title: 'table', flexible: true }, ...SIZES, { title: 'notes' }];
  shell.say(`\n${await drawTable(columns, ofTables)}`);
  if (partitions.length > 0) {
    const rows = partitions.map(each => [each.partition, ...sizes(each), boundText(each)]);
    const titles = [{ title: 'partition', flexible: true }, ...SIZES, { title: 'holds' }];
    shell.say(`\n${await drawTable(titles, rows)}`);
  }
  const rows = migrations.map(each => [
    each.name,
    { text: each.state, colour: each.state === 'applied' ? null : ('yellow' as const) },
    each.appliedAt === null ? '' : utcText(each.appliedAt),
  ]);
  shell.say(
    `\n${await drawTable([{ title: 'migration', flexible: true }, { title: 'state' }, { title: 'applied' }], rows)}`,
  );
}

/** `2026-11-01 to 2026-12-01`, `segment 3`, `all else`. */
function boundText({ bound }: PartitionSize): string {
  const [, from, to] = /FROM \('(.+?)'\) TO \('(.+?)'\)/.exec(bound) ?? [];
  const day = (text: string) => text.replace(/ 00:00:00\+00$/, '');
  if (from !== undefined && to !== undefined) return `${day(from)} to ${day(to)}`;
  const [, segment] = /IN \('?(\d+)'?\)/.exec(bound) ?? [];
  return segment === undefined ? (bound === 'DEFAULT' ? 'all else' : bound) : `segment ${segment}`;
}
