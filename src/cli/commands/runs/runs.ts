// `tock runs`: the runs, newest first.
import { type Command, Option } from 'commander';
import { walkRuns } from '../../../answers/runs/walk-runs.js';
import { hostZone } from '../../../environment/host-zone.js';
import { TockError } from '../../../model/errors.js';
import { RUN_ORDERS, type RunOrder } from '../../../model/run/match/run-order.js';
import { CSV_HEADER, csvLine } from '../../../model/run/run-csv.js';
import type { RunFilter, RunRecord } from '../../../model/run/run-record.js';
import { isNever } from '../../../model/run/run-wait.js';
import type { Tock } from '../../../tock/types.js';
import { type FilterFlags, isFiltered, matchOfFlags, withFilter } from '../../flags/filter-flags.js';
import { count, examples, runId, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { paint, STATUS_COLOURS } from '../../terminal.js';
import { requireKnown } from '../../unknown-names.js';
import { errorLine, nameOf, tookText } from '../../views/run-text.js';
import { type Cell, type Column, drawTable } from '../../views/table.js';
import { localStamp } from '../../views/time-text.js';

interface RunsFlags extends CommonOptions, FilterFlags {
  readonly limit?: number;
  readonly before?: string;
  readonly csv?: true;
  readonly order?: RunOrder;
}

const LIMIT = 50;
const MAX_LIMIT = 1000;

export function addRuns(program: Command): Command {
  return withFilter(
    withJson(program.command('runs')),
    'queued, running, failed, succeeded, dead, cancelled, skipped',
  )
    .summary('the runs, newest first')
    .description('Lists runs, newest first: waiting, running and ended ones.')
    .option('--csv', 'print CSV: all that match, a line each')
    .option(
      '--limit <n>',
      `at most this many, up to ${MAX_LIMIT} (default ${LIMIT}; with --csv, all)`,
      count(1, MAX_LIMIT),
    )
    .addOption(
      new Option('--order <order>', 'newest: the newest first; ended: those that ended last first').choices(
        RUN_ORDERS,
      ),
    )
    .option('--before <id>', 'the id of the last run of a page: the next page', runId)
    .addHelpText(
      'after',
      examples(
        ['tock runs --status dead,failed', 'failures'],
        ['tock runs --job weekly-run-report --limit 5', 'the last five runs of a job'],
        ['tock runs --status dead --from yesterday --to today --csv', 'yesterday’s dead runs'],
        ['tock runs --order ended --limit 10', 'what ended last, as a run that was retried'],
        ['tock runs --tag import --tag customer-812', 'by their tags: runs that have both'],
        ['tock runs --payload customer=812 --from -2h', 'by what the payload has'],
        ["tock runs --json | jq '.runs[].id'", 'for scripts'],
      ),
    )
    .action(action(runs));
}

async function runs(shell: Shell, flags: RunsFlags): Promise<number> {
  const { csv = false, limit, before, order } = flags;
  if (csv && shell.json) throw usage('--csv and --json are two forms: give one of them');
  const filter = {
    ...matchOfFlags(flags),
    ...(before === undefined ? {} : { before }),
    ...(order === undefined ? {} : { order }),
  };
  return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) => {
    if (csv) return await printCsv(shell, tock, filter, limit ?? Number.POSITIVE_INFINITY);
    const found = await tock.runs.list({ ...filter, limit: limit ?? LIMIT });
    if (found.length === 0) await requireKnown(shell, tock, flags);
    shell.document({ runs: found });
    if (shell.json) return 0;
    const isNarrowed = isFiltered(flags) || before !== undefined;
    if (found.length === 0)
      shell.say(isNarrowed ? 'no runs match' : 'there are no runs yet; tock run <job> enqueues one');
    else shell.say(await drawTable(columns(), found.map(row)));
    const last = found.at(-1);
    if (last && found.length === (limit ?? LIMIT)) {
      const more = `${order === undefined ? '' : `--order ${order} `}--before ${last.id}`;
      shell.say(paint('dim', `older runs: ${more}`));
    }
    return 0;
  });
}

const usage = (message: string) => new TockError('TOCK_BAD_OPTION', message);

/** A header, even where nothing matches. */
async function printCsv(shell: Shell, tock: Tock, filter: RunFilter, limit: number): Promise<number> {
  let isEmpty = true;
  for await (const batch of walkRuns(async page => await tock.runs.list(page), filter, limit)) {
    if (isEmpty) shell.print(CSV_HEADER);
    isEmpty = false;
    shell.print(batch.map(csvLine).join('\n'));
  }
  if (!isEmpty) return 0;
  await requireKnown(shell, tock, filter);
  shell.print(CSV_HEADER);
  return 0;
}

function columns(): readonly Column[] {
  return [
    { title: 'id', align: 'right' },
    { title: 'job', flexible: true },
    { title: 'status' },
    { title: 'attempts', align: 'right', optional: true },
    { title: `due (${hostZone()})`, keepsEnd: true },
    { title: 'took', align: 'right', optional: true },
    { title: 'trigger', optional: true },
    { title: 'key, or error', flexible: true },
  ];
}

function row(run: RunRecord): Cell[] {
  const why = errorLine(run);
  return [
    run.id,
    nameOf(run),
    { text: run.status, colour: STATUS_COLOURS[run.status] },
    `${run.attempts}/${run.maxAttempts}`,
    run.scheduledFor === null && isNever(run.runAt)
      ? 'when its wait is over'
      : localStamp(run.scheduledFor ?? run.runAt),
    tookText(run),
    run.trigger,
    why === '' ? { text: run.idempotencyKey ?? '', colour: 'dim' } : why,
  ];
}
