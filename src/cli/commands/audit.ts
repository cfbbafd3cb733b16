// `tock audit`: who did what, newest first.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { auditSentence } from '../../answers/audit-words.js';
import { hostZone } from '../../environment/host-zone.js';
import type { AuditRecord } from '../../model/audit.js';
import { didYouMean } from '../../model/nearest.js';
import { ACTIONS, actionsNamed, VIAS, type Via } from '../../model/operator.js';
import { count, examples, instant, runId, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';
import { type Cell, type Column, drawTable } from '../views/table.js';
import { localStamp } from '../views/time-text.js';

interface AuditFlags extends CommonOptions {
  readonly by?: string;
  readonly action?: string;
  readonly via?: Via;
  readonly target?: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly limit: number;
  readonly before?: string;
}

export function addAudit(program: Command): Command {
  return withJson(program.command('audit'))
    .summary('who did what, newest first')
    .description(
      'Lists what operators did: runs by hand, retries, cancels, pauses, edits of schedules and limits, backfills, migrations. Each row was written with the action itself; tock prune deletes those older than a year.',
    )
    .option('--by <name>', 'only what this operator did')
    .option('--action <action>', 'only this action, or all of a group: runs.retry, queues', actionName)
    .addOption(new Option('--via <via>', 'only what was done through it').choices(VIAS))
    .option('--target <name>', 'only actions on this definition, queue or run')
    .option('--since <instant>', 'from this time on, such as 2026-03-08T07:30:00Z', instant)
    .option('--until <instant>', 'before this time', instant)
    .option('--limit <n>', 'at most this many, up to 1000', count(1, 1000), 50)
    .option('--before <id>', 'only rows with an id below this: the next page', runId)
    .addHelpText(
      'after',
      examples(
        ['tock audit', 'the latest actions'],
        ['tock audit --target weekly-run-report', 'what was done to a definition'],
        ['tock audit --by mia --action runs --since 2026-03-08T00:00:00Z', 'her retries and cancels'],
        ["tock audit --json | jq '.audit[].action'", 'for scripts'],
      ),
    )
    .action(action(audit));
}

function actionName(name: string): string {
  if (actionsNamed(name).length > 0) return name;
  const known = Object.keys(ACTIONS);
  throw new InvalidArgumentError(`it is not an action${didYouMean(name, known) || `: ${known.join(', ')}`}`);
}

async function audit(shell: Shell, flags: AuditFlags): Promise<number> {
  const { json: _, by, ...filter } = flags;
  return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) => {
    const found = await tock.audit.list({ ...filter, ...(by === undefined ? {} : { operator: by }) });
    shell.document({ audit: found });
    if (shell.json) return 0;
    const isFiltered = Object.keys(flags).length > 1;
    if (found.length === 0)
      shell.say(
        isFiltered
          ? 'no actions match'
          : 'no actions on record yet: tock run, pause, retry and the like leave a row here',
      );
    else shell.say(await drawAudit(found));
    const last = found.at(-1);
    if (last && found.length === flags.limit) shell.say(paint('dim', `older actions: --before ${last.id}`));
    return 0;
  });
}

const columns = (): readonly Column[] => [
  { title: `at (${hostZone()})` },
  { title: 'who', flexible: true },
  { title: 'via' },
  { title: 'what', flexible: true },
];

async function drawAudit(records: readonly AuditRecord[]): Promise<string> {
  const rows = records.map((record): Cell[] => [
    localStamp(record.at),
    whoText(record),
    record.via,
    cleanLine(auditSentence(record)),
  ]);
  return await drawTable(columns(), rows);
}

/** The name, and the database's role where it says more. */
function whoText({ operator, databaseRole }: AuditRecord): string {
  return operator === databaseRole ? operator : `${operator} as ${databaseRole}`;
}
