// `tock errors`: what runs died of, or are failing with, by job and kind.
import { type Command, InvalidArgumentError } from 'commander';
import { type ReadErrors, readErrors } from '../../answers/runs/read-errors.js';
import { formatSpan, parseDuration } from '../../model/duration.js';
import type { ErrorCount } from '../../model/run/errors/error-counts.js';
import { cappedText } from '../../model/run/match/run-match.js';
import { databaseOf } from '../../tock/database-of.js';
import { duration, examples, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { paint } from '../terminal.js';
import { drawTable } from '../views/table.js';
import { relative } from '../views/time-text.js';

interface ErrorsFlags extends CommonOptions {
  readonly since?: string;
  readonly failing?: true;
}

const SHOWN = 50;
const MAX_MS = 365 * 86_400_000;

export function addErrors(program: Command): Command {
  return withJson(program.command('errors'))
    .summary('what runs died of, by job and kind, and in which deploy it began')
    .description(
      'Groups the last errors of dead runs by job, name, code and message, without what differs from run to run. Says since when each is there, and in which deploy it was first seen.',
    )
    .option('--since <duration>', 'how far back (default 24h)', span)
    .option('--failing', 'of runs that wait for another attempt, not of dead ones')
    .addHelpText(
      'after',
      examples(
        ['tock errors', 'of the last 24 hours'],
        ['tock errors --since 7d', 'of a week'],
        ["tock retry --status dead --error '535' --rate 5/s", 'retry those of one error'],
      ),
    )
    .action(action(errors));
}

function span(text: string): string {
  if (parseDuration(duration(text)) > MAX_MS) throw new InvalidArgumentError('it must be at most 365d');
  return text;
}

async function errors(shell: Shell, { since = '24h', failing }: ErrorsFlags): Promise<number> {
  return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) => {
    const ms = parseDuration(since);
    const found = await readErrors(await databaseOf(tock), failing ? 'failing' : 'dead', {
      ms,
      parts: 1,
    });
    shell.document({ total: found.total, isCapped: found.isCapped, errors: found.errors.map(shown) });
    if (shell.json) return 0;
    const what = failing ? 'waits for another attempt' : 'has died';
    if (found.errors.length === 0) shell.say(`no run ${what} in the last ${formatSpan(ms)}`);
    else await say(shell, found, ms);
    return 0;
  });
}

const shown = ({ job, group, count, firstAt, lastAt, firstDeploy, lastId, sample }: ErrorCount) => ({
  job,
  ...group,
  count,
  firstAt: new Date(firstAt),
  lastAt: new Date(lastAt),
  firstDeploy,
  lastRun: lastId,
  sample,
});

async function say(shell: Shell, { errors: found, total, read, isCapped }: ReadErrors, ms: number) {
  const columns = [
    { title: 'runs', align: 'right' as const },
    { title: 'job', flexible: true },
    { title: 'error', flexible: true },
    { title: 'first', optional: true as const },
    { title: 'first in' },
    { title: 'last' },
    { title: 'last run', align: 'right' as const },
  ];
  const rows = found
    .slice(0, SHOWN)
    .map(({ job, group, count, firstAt, firstDeploy, lastAt, lastId }) => [
      `${count}${isCapped ? '+' : ''}`,
      job,
      `${group.name}${group.code === null ? '' : ` ${group.code}`}: ${group.message}`,
      isCapped ? '' : relative(new Date(firstAt)),
      isCapped ? '' : (firstDeploy ?? ''),
      relative(new Date(lastAt)),
      lastId,
    ]);
  shell.say(await drawTable(columns, rows));
  const more = found.length > SHOWN ? `; ${found.length - SHOWN} rarer errors are not listed` : '';
  const capped = isCapped ? `; the newest ${read} are grouped` : '';
  shell.say(
    paint(
      'dim',
      `${cappedText(total)} runs in the last ${formatSpan(ms)}${capped}${more}; “first in” is of this time`,
    ),
  );
}
