// `tock status`: the scheduler's figures on one screen, and how to fix what is wrong.

import type { Command } from 'commander';
import { formatDuration, formatSpan } from '../../model/duration.js';
import { findProblems } from '../../model/problems.js';
import { utcText } from '../../model/schedule/instant-text.js';
import type { SchedulerStatus } from '../../model/scheduler-view.js';
import { examples, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { type Colour, cleanLine, paint } from '../terminal.js';
import { nameColumn } from '../views/queue-text.js';
import { drawTable } from '../views/table.js';
import { localTime, relative } from '../views/time-text.js';

export function addStatus(program: Command): Command {
  return withJson(program.command('status'))
    .summary('what waits, what runs, what is wrong')
    .description(
      'Shows the scheduler’s figures: waiting, running and failed runs, the last 24 hours, queues, workers, and what slows the database down. If something is wrong, says what to do.',
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
    const problems = findProblems(figures).map(({ message }) => message);
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
  const counted = (number: number, word: string, colour: Colour | null = null) =>
    paint(number > 0 ? colour : null, `${number} ${word}`);
  return [
    [
      'runs',
      [
        counted(runs.waiting, 'waiting'),
        counted(runs.scheduled, 'scheduled'),
        counted(runs.running, 'running', 'cyan'),
        counted(runs.failed, 'failed and waiting for a retry', 'yellow'),
        counted(runs.stuck, 'stuck', 'red'),
      ].join(', '),
    ],
    ['oldest wait', runs.waiting > 0 ? formatSpan(oldestWaitMs) : 'none'],
    [
      'last 24 hours',
      [
        counted(lastDay.succeeded, 'succeeded', 'green'),
        counted(lastDay.dead, 'dead', 'red'),
        counted(lastDay.cancelled, 'cancelled'),
        counted(lastDay.skipped, 'skipped'),
      ].join(', '),
    ],
    [
      'definitions',
      [
        counted(definitions.scheduled, 'scheduled'),
        counted(definitions.due, 'due'),
        counted(definitions.paused, 'paused'),
        counted(definitions.broken, 'broken', 'red'),
      ].join(', '),
    ],
    [
      'database',
      `${oldestSnapshot ? `oldest snapshot ${formatDuration(oldestSnapshot.ageMs)}, held by pid ${oldestSnapshot.pid}` : 'no old snapshot'}; ${deadRows} dead rows`,
    ],
    [
      'partitions',
      `one per ${partitions.unit}, ${partitions.runningOut ? paint('yellow', 'only until') : 'until'} ${utcText(partitions.end)}`,
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
    shell.say('\nno worker is running now (a tick has one only while it executes)');
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
