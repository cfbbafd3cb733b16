// `tock show`: everything about one run.

import type { Command } from 'commander';
import { TockError } from '../../../model/errors.js';
import { receiverText, refusedTexts } from '../../../model/run/hand-off-record.js';
import { SUSPECTS } from '../../../model/run/limits.js';
import type { RunRecord } from '../../../model/run/run-record.js';
import { waitWords } from '../../../model/run/run-wait.js';
import { isFinished, STATUS_MEANINGS } from '../../../model/run/states.js';
import { utcText } from '../../../model/schedule/instant-text.js';
import { stopSignal } from '../../../runtime/stop-signal.js';
import { pendingText, readPendingRun } from '../../../store/reads/runs/successors.js';
import { databaseOf } from '../../../tock/database-of.js';
import { checkRunId, examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, jsonText, paint, paintStatus } from '../../terminal.js';
import { errorText, nestedLines, stackLines } from '../../views/error-lines.js';
import { followRun } from '../../views/follow-run.js';
import { logLines } from '../../views/run-log.js';
import { nameOf, nextStep, progressBar, skipText, slotsText, tookText } from '../../views/run-text.js';
import { localTime, relative } from '../../views/time-text.js';

interface ShowFlags extends CommonOptions {
  readonly stack?: true;
  readonly follow?: true;
  readonly log?: true;
}

export function addShow(program: Command): Command {
  return withJson(program.command('show'))
    .summary('everything about one run')
    .description(
      'Shows one run: its times, its attempts and their errors, the worker that holds it, its payload and output, and what happens next.',
    )
    .argument('<run>', 'id of the run')
    .option('--stack', 'with the stack of each error and of its causes')
    .option('--follow', 'wait until it has ended; exit code 0 if it succeeded, otherwise 1')
    .option('--log', 'with the lines that its handler has logged; with --follow, as they are written')
    .addHelpText(
      'after',
      examples(
        ['tock show 812', 'a page for people'],
        ['tock show 812 --stack', 'with the stacks of errors'],
        ['tock show 812 --follow', 'each attempt, error and progress as it happens'],
        ['tock show 812 --log', 'what its handler has logged, by attempt'],
      ),
    )
    .action(action(show));
}

async function show(shell: Shell, { stack, follow, log }: ShowFlags, id: string): Promise<number> {
  const checked = checkRunId(id);
  const stop = follow ? stopSignal() : null;
  return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) => {
    const run = await tock.runs.get(checked);
    if (run === null) {
      const pending = await readPendingRun(await databaseOf(tock), checked);
      throw new TockError(
        'TOCK_NOT_FOUND',
        pending === null
          ? `there is no run ${checked}; it may have been pruned (tock runs lists the runs)`
          : pendingText(pending),
      );
    }
    if (stop) {
      const ended = await followRun(shell, tock, run, stop, log === true);
      if (isFinished(ended.status)) shell.say(page(ended, stack === true));
      else shell.note(`stopped following; run ${ended.id} is ${ended.status}: ${nextStep(ended)}`);
      return ended.status === 'succeeded' ? 0 : 1;
    }
    const logs = log ? await tock.runs.log(run.id) : null;
    shell.document(logs === null ? { run } : { run, log: logs });
    if (shell.json) return 0;
    shell.say(page(run, stack === true));
    for (const line of logs === null ? [] : logLines(logs)) shell.say(line);
    return 0;
  });
}

function page(run: RunRecord, withStack: boolean): string {
  const header = `${paint('bold', `run ${run.id} of ${nameOf(run)}`)}: ${paintStatus(run.status)}, ${STATUS_MEANINGS[run.status]}`;
  const { progress } = run;
  const facts: (readonly [string, string])[] = [
    ['trigger', run.trigger],
    ['key', cleanLine(run.idempotencyKey ?? '')],
    ['queue', `${cleanLine(run.queue)}, priority ${run.priority}`],
    ['slots', slotsText(run)],
    ['occurrences', run.occurrenceCount > 1 ? `stands for ${run.occurrenceCount}` : ''],
    ['scheduled for', time(run.scheduledFor)],
    [
      'interval',
      run.intervalStart && run.scheduledFor
        ? `from ${utcText(run.intervalStart)} to ${utcText(run.scheduledFor)}`
        : '',
    ],
    ['created', time(run.createdAt)],
    ['due', time(run.runAt)],
    ['started', time(run.startedAt)],
    ['finished', time(run.finishedAt)],
    ['took', tookText(run)],
    ['cancel asked', time(run.cancelRequestedAt)],
    ['lease', leaseText(run)],
    ['successor', run.successor === null ? '' : `run ${run.successor}, which starts when this one has ended`],
    ['late calls', refusedTexts(run.handOffs).join('; ')],
    ['reason', run.skipReason === null ? '' : cleanLine(skipText(run.skipReason))],
    [
      'given back',
      run.releases > 0
        ? `${run.releases === 1 ? 'once' : `${run.releases} times`} by a worker that was stopping or crashed`
        : '',
    ],
    ['waits', waitsText(run)],
    [
      'isolated',
      run.concurrencyKeys?.includes(SUSPECTS.key)
        ? 'each attempt gets its own process, because an earlier one may have ended its process'
        : '',
    ],
    ['progress', progress && run.status !== 'succeeded' ? progressBar(progress, process.stdout.isTTY) : ''],
  ];
  return [
    header,
    ...facts
      .filter(([, value]) => value !== '')
      .map(([name, value]) => `  ${paint('dim', name.padEnd(13))}  ${value}`),
    ...attemptLines(run, withStack),
    ...valueLines('payload', run.payload),
    ...valueLines('output', run.output),
    `${paint('bold', 'next')}: ${nextStep(run)}`,
  ].join('\n');
}

function waitsText({ status, waits, snoozes }: RunRecord): string {
  const last = waits.at(-1);
  if (last === undefined) return '';
  const until = status === 'queued' && last.until !== null ? `until ${time(last.until)}: ` : '';
  const count = snoozes > 0 ? `; snoozed ${snoozes === 1 ? 'once' : `${snoozes} times`}` : '';
  return cleanLine(`${until}${waitWords(last)}${count}`);
}

function time(date: Date | null): string {
  return date === null ? '' : `${localTime(date)} (${relative(date)})`;
}

function leaseText({ status, worker, lockedBy, lockedUntil, handOff }: RunRecord): string {
  if (handOff !== null)
    return `${cleanLine(`handed off${receiverText(handOff)}`)} since ${time(handOff.handedOverAt)}, until ${time(handOff.leaseUntil)}`;
  if (status !== 'running' || lockedUntil === null) return '';
  const holder = cleanLine(worker ?? `worker ${lockedBy ?? 'unknown'}`);
  return `held by ${holder} until ${localTime(lockedUntil)} (${relative(lockedUntil)})`;
}

function attemptLines(run: RunRecord, withStack: boolean): string[] {
  const lines = run.errors.flatMap(error => {
    const [first = '', ...others] = errorText(error);
    return [
      `  ${paint('yellow', `attempt ${error.attempt}`)}  ${localTime(new Date(error.at))}  ${first}`,
      ...others.map(line => `    ${line}`),
      ...(withStack ? stackLines(error.stack, '    ') : []),
      ...nestedLines(error, '    ', withStack),
    ];
  });
  if (run.status === 'succeeded') lines.push(`  ${paint('green', `attempt ${run.attempts}`)}  succeeded`);
  if (run.status === 'running')
    lines.push(
      `  ${paint('cyan', `attempt ${run.attempts}`)}  ${run.handOff === null ? 'is running' : 'is handed off'}`,
    );
  if (!withStack && run.errors.some(({ stack }) => Boolean(stack)))
    lines.push(paint('dim', '  (--stack shows the stacks)'));
  return [`${paint('bold', 'attempts')}: ${run.attempts} of ${run.maxAttempts}`, ...lines];
}

function valueLines(title: string, value: unknown): string[] {
  if (value === null || value === undefined) return [];
  const text = jsonText(value, 2);
  const isShort = text.length <= 80;
  return [
    `${paint('bold', title)}: ${isShort ? jsonText(value) : ''}`.trimEnd(),
    ...(isShort ? [] : [text.replace(/^/gm, '  ')]),
  ];
}
