// `tock status`: the scheduler's figures on one screen, and how to fix what is wrong.

import type { Command } from 'commander';
import { formatDuration, formatSpan, parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { handOffsText } from '../../model/explain/relayed.js';
import { isAsleep, lastSeenAt } from '../../model/explain/tick-state.js';
import { healthOf } from '../../model/health.js';
import { tickerText } from '../../model/problem-words.js';
import { findProblems } from '../../model/problems.js';
import { cappedText } from '../../model/run/match/run-match.js';
import { utcText } from '../../model/schedule/instant-text.js';
import type { SchedulerStatus } from '../../model/scheduler-view.js';
import { healthExitCode } from '../../runtime/exit-codes.js';
import { ALL } from '../databases/each-database.js';
import { duration, examples, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { type Colour, cleanLine, paint } from '../terminal.js';
import { requireService } from '../unknown-names.js';
import { paintLevel } from '../views/level-text.js';
import { frozenWords } from '../views/queue/frozen-text.js';
import { nameColumn } from '../views/queue/queue-text.js';
import { drawTable } from '../views/table.js';
import { localTime, relative } from '../views/time-text.js';

export function addStatus(program: Command): Command {
  return withJson(program.command('status'))
    .summary('what waits, what runs, what is wrong')
    .description(
      'Shows the scheduler’s figures: waiting, running and failed runs, the last 24 hours, queues, workers, and what slows the database down. If something is wrong, says what to do.',
    )
    .option('--check', 'for a monitor: only what is wrong; exit code 0, 1 (failing) or 4 (warning)')
    .option('--service <name>', 'of workers and ticks, only those of this service')
    .option(...ALL)
    .option('--max-tick-age <duration>', 'how long nothing may tick (default 5m)', duration)
    .addHelpText(
      'after',
      examples(
        ['tock status', 'one screen'],
        ['tock status --check --max-tick-age 10m', 'for a monitor'],
        ['tock status --all', 'a line for each database of TOCK_DATABASES'],
        ["tock status --json | jq '.runs.stuck'", 'one figure'],
      ),
    )
    .action(action(status));
}

interface StatusFlags extends CommonOptions {
  readonly service?: string;
  readonly all?: true;
  readonly check?: true;
  readonly maxTickAge?: string;
}

async function status(shell: Shell, flags: StatusFlags): Promise<number> {
  const limits =
    flags.maxTickAge === undefined ? {} : { silentTickMs: parseDuration(flags.maxTickAge, '--max-tick-age') };
  if (flags.service !== undefined && (flags.all || flags.check))
    throw new TockError(
      'TOCK_BAD_OPTION',
      '--service chooses workers and ticks to show: leave out --all and --check',
    );
  if (flags.all) {
    // Loaded late, like everything that only one flag needs.
    const { statusOfAll } = await import('../databases/status-of-all.js');
    return await statusOfAll(shell, limits, flags.check === true);
  }
  return await withTock(
    shell,
    { needsJobs: false, onlyReads: true },
    async ({ tock, where, psqlCommand }) => {
      if (flags.check) {
        const health = await tock.health(limits);
        shell.document(health);
        for (const { level, text, remedy } of health.sentences)
          shell.say(`${paintLevel(level)}: ${cleanLine(remedy === null ? text : `${text}. ${remedy}`)}`);
        return healthExitCode(health.level);
      }
      const whole = await tock.status();
      const problems = findProblems(whole, limits);
      const health = healthOf(whole, limits);
      const figures = ofService(whole, flags.service);
      if (flags.service !== undefined && figures.workers.length === 0 && figures.ticks.length === 0)
        await requireService(shell, tock, flags.service);
      const reported = problems.filter(({ level }) => level !== 'unknown');
      shell.document({ ...figures, problems: reported.map(({ message }) => message), health });
      if (shell.json) return 0;
      shell.say(
        `${paint('bold', `schema ${shell.config.schema} on ${cleanLine(where)}`)}, ${localTime(figures.at)}`,
      );
      if (figures.frozen !== null)
        shell.say(
          paint(
            'yellow',
            `frozen by ${cleanLine(figures.frozen.by)} ${frozenWords(figures.frozen, figures.at.getTime())}`,
          ),
        );
      for (const [name, value] of facts(figures)) shell.say(`  ${paint('dim', name.padEnd(13))}  ${value}`);
      if (psqlCommand !== null) shell.say(`  ${paint('dim', 'psql'.padEnd(13))}  ${cleanLine(psqlCommand)}`);
      await sayQueues(shell, figures);
      sayHandOffs(shell, figures);
      await sayWorkers(shell, figures);
      shell.say('');
      if (problems.length === 0) shell.say(paint('green', cleanLine(health.sentences[0]?.text ?? '')));
      for (const { level, message } of problems) shell.say(`${paintLevel(level)}: ${cleanLine(message)}`);
      return 0;
    },
  );
}

function ofService(figures: SchedulerStatus, service: string | undefined): SchedulerStatus {
  if (service === undefined) return figures;
  const isOf = (each: { readonly service: string }) => each.service === service;
  return { ...figures, workers: figures.workers.filter(isOf), ticks: figures.ticks.filter(isOf) };
}

function facts({
  runs,
  definitions,
  lastDay,
  oldestWaitMs,
  oldestSnapshot,
  deadRows,
  partitions,
  ticks,
  at,
  replicaLagMs,
}: SchedulerStatus): (readonly [string, string])[] {
  const counted = (number: number, word: string, colour: Colour | null = null) =>
    paint(number > 0 ? colour : null, `${number} ${word}`);
  const [last] = ticks;
  return [
    ...(replicaLagMs === null
      ? []
      : [['read from', `a replica, ${formatSpan(replicaLagMs)} behind`] as const]),
    [
      'last tick',
      last === undefined
        ? paint('yellow', 'none yet')
        : `${isAsleep(last, at) ? `asleep until ${localTime(lastSeenAt(last))}` : relative(last.at, at.getTime())}: ${cleanLine(tickerText(last))}`,
    ],
    [
      'runs',
      [
        counted(runs.waiting, 'waiting'),
        counted(runs.scheduled, 'scheduled'),
        `${counted(runs.running, 'running', 'cyan')}${runs.handedOff > 0 ? ` (${runs.handedOff} handed off)` : ''}`,
        counted(runs.failed, 'failed and waiting for a retry', 'yellow'),
        counted(runs.stuck, 'stuck', 'red'),
      ].join(', '),
    ],
    ['oldest wait', runs.waiting > 0 ? formatSpan(oldestWaitMs) : 'none'],
    [
      'last 24 hours',
      [
        counted(lastDay.succeeded, 'succeeded', 'green'),
        paint(lastDay.dead > 0 ? 'red' : null, `${cappedText(lastDay.dead)} dead`),
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
      `${oldestSnapshot ? `oldest snapshot ${formatDuration(oldestSnapshot.ageMs)}, held by pid ${oldestSnapshot.pid}` : 'no old snapshot'}; ${deadRows} dead ${deadRows === 1 ? 'row' : 'rows'}`,
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
    [each.paused ? 'paused' : '', each.relayedTo === null ? '' : `relayed to ${cleanLine(each.relayedTo)}`]
      .filter(note => note !== '')
      .join(', '),
  ]);
  shell.say(`\n${await drawTable(columns, rows)}`);
}

/** What became of what relays have handed off. */
function sayHandOffs(shell: Shell, { handOffs }: SchedulerStatus): void {
  for (const figures of handOffs)
    shell.say(
      `${paint('dim', cleanLine(`relayed to ${figures.relayedTo}, last 24 hours:`))} ${cleanLine(figures.queue)} ${handOffsText(figures)}`,
    );
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
    // Where there are two.
    ...(new Set(workers.map(({ service }) => service)).size > 1
      ? [{ title: 'service', flexible: true }]
      : []),
  ];
  const rows = workers.map(each => [
    each.kind,
    each.host,
    `${each.pid}`,
    `${each.running}`,
    relative(each.seenAt, at.getTime()),
    ...(columns.length > 5 ? [each.service] : []),
  ]);
  shell.say(`\n${await drawTable(columns, rows)}`);
}
