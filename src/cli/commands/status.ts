// Shell: cli. `tock status`: the scheduler's figures on one screen, with the mend where something is wrong.
// In: tock.status(). Out: a page, or the figures as JSON.
import type { Command } from 'commander';
import { formatDuration } from '../../model/duration.js';
import type { SchedulerStatus } from '../../model/scheduler-view.js';
import { examples, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { type Colour, cleanLine, paint } from '../terminal.js';
import { findProblems } from '../views/problems.js';
import { nameColumn } from '../views/queue-text.js';
import { drawTable } from '../views/table.js';
import { localTime, relative, span, utcText } from '../views/time-text.js';

export function addStatus(program: Command): Command {
  return withJson(program.command('status'))
    .summary('how the scheduler is: what waits, what runs, what is wrong')
    .description(
      'Shows the scheduler’s figures: runs that wait, run or failed, the last 24 hours, queues, workers, and what slows the database down. Says what to do where something is wrong.',
    )
    .addHelpText(
      'after',
      examples(['tock status', 'one screen'], ["tock status --json | jq '.runs.stuck'", 'for a monitor']),
    )
    .action(action(status));
}

async function status(shell: Shell, _flags: CommonOptions): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock, where, psqlCommand }) => {
    const figures = await tock.status();
    const problems = findProblems(figures);
    shell.document({ ...figures, problems });
    if (shell.json) return 0;
    shell.say(
      `${paint('bold', `schema ${shell.config.schema} on ${cleanLine(where)}`)}, ${localTime(figures.at)}`,
    );
    for (const [name, value] of facts(figures)) shell.say(`  ${paint('dim', name.padEnd(13))}  ${value}`);
    if (psqlCommand !== null) shell.say(`  ${paint('dim', 'psql'.padEnd(13))}  ${cleanLine(psqlCommand)}`);
    await sayQueues(shell, figures);
    await sayWorkers(shell, figures);
    shell.say('');
    if (problems.length === 0) shell.say(paint('green', 'nothing is wrong'));
    for (const problem of problems) shell.say(`${paint('yellow', 'warning')}: ${cleanLine(problem)}`);
    return 0;
  });
}

function facts({
  runs,
  definitions,
  lastDay,
  oldestWaitMs,
  oldestSnapshot,
  deadRows,
  partitions,
}: SchedulerStatus): (readonly [string, string])[] {
  const some = (number: number, word: string, colour: Colour | null = null) =>
    paint(number > 0 ? colour : null, `${number} ${word}`);
  return [
    [
      'runs',
      [
        some(runs.waiting, 'waiting'),
        some(runs.scheduled, 'scheduled'),
        some(runs.running, 'running', 'cyan'),
        some(runs.failed, 'failed and to be tried again', 'yellow'),
        some(runs.stuck, 'stuck', 'red'),
      ].join(', '),
    ],
    ['oldest wait', runs.waiting > 0 ? span(oldestWaitMs) : 'none'],
    [
      'last 24 hours',
      [
        some(lastDay.succeeded, 'succeeded', 'green'),
        some(lastDay.dead, 'dead', 'red'),
        some(lastDay.cancelled, 'cancelled'),
        some(lastDay.skipped, 'skipped'),
      ].join(', '),
    ],
    [
      'definitions',
      [
        some(definitions.scheduled, 'scheduled'),
        some(definitions.due, 'due'),
        some(definitions.paused, 'paused'),
        some(definitions.broken, 'broken', 'red'),
      ].join(', '),
    ],
    [
      'database',
      `${oldestSnapshot ? `oldest snapshot ${formatDuration(oldestSnapshot.ageMs)}, held by pid ${oldestSnapshot.pid}` : 'no old snapshot'}; ${deadRows} dead rows`,
    ],
    [
      'partitions',
      `one a ${partitions.unit}, ${partitions.runningOut ? paint('yellow', 'only until') : 'until'} ${utcText(partitions.end)}`,
    ],
  ];
}

async function sayQueues(shell: Shell, { queues }: SchedulerStatus): Promise<void> {
  if (queues.length === 0) return;
  const columns = [
    { title: 'queue', flexible: true },
    { title: 'waiting', align: 'right' as const },
    { title: 'running', align: 'right' as const },
    { title: 'failed', align: 'right' as const },
    { title: 'notes' },
  ];
  const rows = queues.map(each => [
    nameColumn(each.queue),
    `${each.waiting}`,
    `${each.running}`,
    `${each.failed}`,
    each.paused ? 'paused' : '',
  ]);
  shell.say(`\n${await drawTable(columns, rows)}`);
}

async function sayWorkers(shell: Shell, { workers, at }: SchedulerStatus): Promise<void> {
  if (workers.length === 0) {
    shell.say('\nno worker is alive right now (a tick has one only while it executes)');
    return;
  }
  const columns = [
    { title: 'worker' },
    { title: 'host', flexible: true },
    { title: 'pid', align: 'right' as const },
    { title: 'running', align: 'right' as const },
    { title: 'seen' },
  ];
  const rows = workers.map(each => [
    each.kind,
    each.host,
    `${each.pid}`,
    `${each.running}`,
    relative(each.seenAt, at.getTime()),
  ]);
  shell.say(`\n${await drawTable(columns, rows)}`);
}
