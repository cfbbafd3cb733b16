// `tock show`: everything about one run.

import type { Command } from 'commander';
import { explainRun, type RunNow } from '../../../answers/now/run-now.js';
import { readClock } from '../../../answers/reads.js';
import { pendingText, readPendingRun } from '../../../answers/runs/lists.js';
import { exceptionOf } from '../../../answers/runs/read-exception.js';
import { readSurroundings } from '../../../answers/runs/read-run.js';
import { formatSpan } from '../../../model/duration.js';
import { TockError } from '../../../model/errors.js';
import { occurrencesText } from '../../../model/planning/plan-occurrences.js';
import { type GroupRecord, MEMBER_STATUSES, type SlowMember } from '../../../model/run/group-record.js';
import { receiverText, refusedTexts } from '../../../model/run/hand-off-record.js';
import { SUSPECTS } from '../../../model/run/limits.js';
import type { RunRecord } from '../../../model/run/run-record.js';
import { isNever, WAIT_OUTCOMES, waitWords } from '../../../model/run/run-wait.js';
import { isFinished, STATUS_MEANINGS } from '../../../model/run/states.js';
import type { DatedError } from '../../../model/run/stored-run.js';
import { utcText } from '../../../model/schedule/instant-text.js';
import { stopSignal } from '../../../runtime/stop-signal.js';
import { databaseOf } from '../../../tock/database-of.js';
import type { Tock } from '../../../tock/types.js';
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
    const run = await findRun(tock, checked);
    if (stop) {
      const ended = await followRun(shell, tock, run, stop, log === true);
      if (isFinished(ended.status)) sayPage(shell, ended, null, stack === true);
      else shell.note(`stopped following; run ${ended.id} is ${ended.status}: ${nextStep(ended)}`);
      return ended.status === 'succeeded' ? 0 : 1;
    }
    const logs = log ? await tock.runs.log(run.id) : null;
    shell.document(logs === null ? { run } : { run, log: logs });
    if (shell.json) return 0;
    await sayRun(shell, tock, run, stack === true);
    for (const line of logs === null ? [] : logLines(logs)) shell.print(line);
    return 0;
  });
}

/** @throws TockError TOCK_NOT_FOUND */
export async function findRun(tock: Tock, id: string): Promise<RunRecord> {
  const run = await tock.runs.get(id);
  if (run !== null) return run;
  const pending = await readPendingRun(await databaseOf(tock), id);
  throw new TockError(
    'TOCK_NOT_FOUND',
    pending === null
      ? `there is no run ${id}; it may have been pruned (tock runs lists the runs)`
      : pendingText(pending),
  );
}

const isWaiting = ({ status }: RunRecord) => status === 'queued' || status === 'failed';

/** Says everything about a run; of a join that waits, also how far its group is. */
export async function sayRun(shell: Shell, tock: Tock, run: RunRecord, withStack = false): Promise<void> {
  const last = run.waits.at(-1);
  const isWaitingJoin =
    run.status === 'queued' && last?.kind === 'group' && last.outcome === null && last.runs?.names === null;
  const database = await databaseOf(tock);
  const exception = await exceptionOf(database, run);
  const around = isWaiting(run) ? await readSurroundings(database, run, await readClock(database)) : null;
  const now = around && explainRun(run, around);
  const group = isWaitingJoin ? await tock.group(run.id) : null;
  sayPage(shell, run, group, withStack, { exception, now });
}

function sayPage(
  shell: Shell,
  run: RunRecord,
  group: GroupRecord | null,
  withStack: boolean,
  { exception = null, now = null }: { exception?: string | null; now?: RunNow | null } = {},
): void {
  const header = `${paint('bold', `run ${run.id} of ${nameOf(run)}`)}: ${paintStatus(run.status)}, ${STATUS_MEANINGS[run.status]}`;
  const { progress } = run;
  const facts: (readonly [string, string])[] = [
    ['trigger', run.trigger],
    ['key', cleanLine(run.idempotencyKey ?? '')],
    ['tags', cleanLine(run.tags?.join(', ') ?? '')],
    ['queue', `${cleanLine(run.queue)}, priority ${run.priority}`],
    ['slots', slotsText(run)],
    ['occurrences', run.occurrenceCount > 1 ? `stands for ${occurrencesText(run.occurrenceCount)}` : ''],
    ['scheduled for', time(run.scheduledFor)],
    ['exception', cleanLine(exception ?? '')],
    [
      'interval',
      run.intervalStart && run.scheduledFor
        ? `from ${utcText(run.intervalStart)} to ${utcText(run.scheduledFor)}`
        : '',
    ],
    ['created', time(run.createdAt)],
    ['due', isNever(run.runAt) ? '' : time(run.runAt)],
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
    ['group', group === null ? '' : statesText(group)],
    ['slowest', cleanLine(group?.slowest[0] === undefined ? '' : slowText(group.slowest[0]))],
    [
      'isolated',
      run.concurrencyKeys?.includes(SUSPECTS.key)
        ? 'each attempt gets its own process, because an earlier one may have ended its process'
        : '',
    ],
    ['progress', progress && run.status !== 'succeeded' ? progressBar(progress, process.stdout.isTTY) : ''],
  ];
  const lines = [
    header,
    ...facts
      .filter(([, value]) => value !== '')
      .map(([name, value]) => `  ${paint('dim', name.padEnd(13))}  ${value}`),
    ...attemptLines(run, withStack),
    ...valueLines('payload', run.payload),
    ...valueLines('output', run.output),
  ];
  // Errors and payloads may hold anything.
  for (const line of lines) shell.print(line);
  shell.say(
    `${paint('bold', 'next')}: ${now === null ? nextStep(run) : cleanLine([now.sentence, now.remedy ?? ''].join(' ').trim())}`,
  );
}

/** `6,000 succeeded, 12 dead, 3 running, 3,985 queued`. */
const statesText = ({ states }: GroupRecord) =>
  MEMBER_STATUSES.toReversed()
    .filter(status => states[status] > 0)
    .map(status => `${states[status].toLocaleString('en')} ${status}`)
    .join(', ');

const slowText = ({ id, job, status, tookMs }: SlowMember) =>
  `run ${id} of ${job}, ${status === 'running' ? 'which has run for' : 'which took'} ${formatSpan(tookMs)}`;

function waitsText({ status, waits, snoozes }: RunRecord): string {
  const last = waits.at(-1);
  if (last === undefined) return '';
  const { kind, until, outcome, endedAt } = last;
  const words = waitWords(last);
  if (outcome !== null) return cleanLine(`${words}: ${WAIT_OUTCOMES[outcome]} ${time(endedAt)}`);
  const isAt = kind === 'snooze' || kind === 'sleep';
  const count = snoozes > 0 ? `; snoozed ${snoozes === 1 ? 'once' : `${snoozes} times`}` : '';
  if (status !== 'queued') return cleanLine(`${words}${count}`);
  if (isAt) return cleanLine(`until ${time(until)}: ${words}${count}`);
  return cleanLine(`for ${words}${until === null ? '' : `, until ${time(until)}`}`);
}

function time(date: Date | null): string {
  return date === null ? '' : `${localTime(date)} (${relative(date)})`;
}

function leaseText({ status, worker, lockedBy, lockedUntil, handOff }: RunRecord): string {
  if (handOff !== null)
    return `${cleanLine(`handed off${receiverText(handOff)}`)} since ${time(handOff.handedOffAt)}, until ${time(handOff.leaseUntil)}`;
  if (status !== 'running' || lockedUntil === null) return '';
  const holder = cleanLine(worker ?? `worker ${lockedBy ?? 'unknown'}`);
  return `held by ${holder} until ${localTime(lockedUntil)} (${relative(lockedUntil)})`;
}

function attemptLines(run: RunRecord, withStack: boolean): string[] {
  const lines = run.errors.flatMap(error => {
    const [first = '', ...others] = errorText(error);
    return [
      `  ${paint('yellow', `attempt ${error.attempt}`)}  ${localTime(new Date(error.at))}${deployText(error.deploy ?? null)}  ${batchText(error)}${first}`,
      ...others.map(line => `    ${line}`),
      ...(withStack ? stackLines(error.stack, '    ') : []),
      ...nestedLines(error, '    ', withStack),
    ];
  });
  if (run.status === 'succeeded')
    lines.push(`  ${paint('green', `attempt ${run.attempts}`)}  succeeded${deployText(run.deploy)}`);
  if (run.status === 'running')
    lines.push(
      `  ${paint('cyan', `attempt ${run.attempts}`)}  ${run.handOff === null ? 'is running' : 'is handed off'}${deployText(run.deploy)}`,
    );
  if (!withStack && run.errors.some(({ stack }) => Boolean(stack)))
    lines.push(paint('dim', '  (--stack shows the stacks)'));
  return [`${paint('bold', 'attempts')}: ${run.attempts} of ${run.maxAttempts}`, ...lines];
}

/** In which deploy, where that is on record. */
const deployText = (deploy: string | null) =>
  deploy === null ? '' : paint('dim', `  in deploy ${cleanLine(deploy)}`);

/** With how many others it failed, which may be to blame. */
const batchText = ({ batch }: DatedError) =>
  typeof batch === 'number' ? paint('dim', `in a batch of ${batch}: `) : '';

function valueLines(title: string, value: unknown): string[] {
  if (value === null || value === undefined) return [];
  const text = jsonText(value, 2);
  const isShort = text.length <= 80;
  return [
    `${paint('bold', title)}: ${isShort ? jsonText(value) : ''}`.trimEnd(),
    ...(isShort ? [] : [text.replace(/^/gm, '  ')]),
  ];
}
