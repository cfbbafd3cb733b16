// `tock runs`: the runs, newest first.
import type { Command } from 'commander';
import type { RunRecord } from '../../../model/run/run-record.js';
import type { RunStatus } from '../../../model/run/states.js';
import { count, examples, runId, statuses, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { paint, STATUS_COLOURS } from '../../terminal.js';
import { requireKnown } from '../../unknown-names.js';
import { errorLine, nameOf, tookText } from '../../views/run-text.js';
import { type Cell, type Column, drawTable } from '../../views/table.js';
import { hostZone, localStamp } from '../../views/time-text.js';

interface RunsFlags extends CommonOptions {
  readonly status?: RunStatus[];
  readonly job?: string;
  readonly definition?: string;
  readonly limit: number;
  readonly before?: string;
}

export function addRuns(program: Command): Command {
  return withJson(program.command('runs'))
    .summary('the runs, newest first')
    .description('Lists runs, newest first: waiting, running and ended ones.')
    .option(
      '--status <status>',
      'queued, running, failed, succeeded, dead, cancelled, skipped; separate several with commas',
      statuses,
    )
    .option('--job <job>', 'only runs of this job')
    .option('--definition <name>', 'only runs of this definition')
    .option('--limit <n>', 'at most this many, up to 1000', count(1, 1000), 50)
    .option('--before <id>', 'only runs with an id below this: the next page', runId)
    .addHelpText(
      'after',
      examples(
        ['tock runs --status dead,failed', 'failures'],
        ['tock runs --job weekly-run-report --limit 5', 'the last five runs of a job'],
        ["tock runs --json | jq '.runs[].id'", 'for scripts'],
      ),
    )
    .action(action(runs));
}

async function runs(shell: Shell, flags: RunsFlags): Promise<number> {
  const { json: _, ...filter } = flags;
  return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) => {
    const found = await tock.runs.list(filter);
    if (found.length === 0) await requireKnown(shell, tock, filter);
    shell.document({ runs: found });
    if (shell.json) return 0;
    const isFiltered = Object.keys(filter).length > 1;
    if (found.length === 0)
      shell.say(isFiltered ? 'no runs match' : 'there are no runs yet; tock run <job> enqueues one');
    else shell.say(await drawTable(columns(), found.map(row)));
    const last = found.at(-1);
    if (last && found.length === flags.limit) shell.say(paint('dim', `older runs: --before ${last.id}`));
    return 0;
  });
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
    localStamp(run.scheduledFor ?? run.runAt),
    tookText(run),
    run.trigger,
    why === '' ? { text: run.idempotencyKey ?? '', colour: 'dim' } : why,
  ];
}
