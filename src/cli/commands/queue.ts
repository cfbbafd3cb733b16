// `tock queue list`, `set`, `reset`, `pause`, `resume` and `remove`.
import type { Command } from 'commander';
import { checkName } from '../../model/names.js';
import { didYouMean } from '../../model/nearest.js';
import type { QueueLimits } from '../../model/queue/queue-limits.js';
import type { QueueRecord } from '../../model/queue-methods.js';
import { isConfirmed } from '../confirm.js';
import { end, examples, rate, withJson } from '../flags/flags.js';
import { addLimitFlags, type LimitFlags, readLimitFlags } from '../flags/queue-flags.js';
import { requireNamed, showQueue } from '../queue-shown.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';
import {
  backlogWords,
  contentWords,
  drawQueues,
  limitWords,
  overrideLines,
  pauseWords,
} from '../views/queue/queue-text.js';

interface ConfirmedFlags extends CommonOptions {
  readonly yes?: true;
}

interface ResumeFlags extends ConfirmedFlags {
  readonly rate?: NonNullable<QueueLimits['rate']>;
}

interface PauseFlags extends CommonOptions {
  readonly new?: true;
  readonly note?: string;
  readonly until?: string | Date;
}

const SUBCOMMANDS = ['list', 'set', 'reset', 'pause', 'resume', 'remove'];

export function addQueue(program: Command): Command {
  const queue = withJson(program.command('queue'))
    .summary('list queues, set their limits, pause and resume them')
    .description(
      'Queues and their limits, which hold across all hosts: how many runs at once, how many starts per period, in which hours. Without a subcommand, lists the queues, or shows the one that is named. Queues need no setup: a queue exists as soon as a run names it.',
    )
    .argument(
      '[queue]',
      'a queue to look at; or what to do: list (default), set, reset, pause, resume, remove',
    )
    // Lets --json after the subcommand belong to the subcommand.
    .enablePositionalOptions()
    .addHelpText(
      'after',
      examples(
        ['tock queue', 'what waits and runs in each, its limits, and whether it is paused'],
        ['tock queue reports', 'one queue: why it is behind, and until when'],
        ['tock queue set reports --concurrency 3 --rate 100/1m', 'three at once, a hundred per minute'],
        ["tock queue pause reports --note 'the printer is on fire'", 'no run of it starts'],
      ),
    )
    .action(action(listOrShow));
  for (const add of [addList, addSet, addReset, addPause, addResume, addRemove])
    add(queue).helpOption('-h, --help', 'print this help');
  return queue;
}

function addList(queue: Command): Command {
  return withJson(queue.command('list'))
    .summary('list the queues')
    .description('Lists the queues that have limits, a pause, or live runs.')
    .addHelpText('after', examples(["tock queue list --json | jq '.queues[].waiting'", 'for a monitor']))
    .action(action(list));
}

function addSet(queue: Command): Command {
  return addLimitFlags(withJson(queue.command('set')))
    .summary('set limits of a queue')
    .description(
      'Sets the given limits and keeps the others; “none” removes a limit. Applies on all hosts from the next claim on; running runs are not touched. In a queue that is in code (defineQueue) they lie on top of what code states, until --until or tock queue reset.',
    )
    .argument('<queue>', 'name of the queue')
    .addHelpText(
      'after',
      examples(
        [
          'tock queue set reports --concurrency 3 --rate 100/1m --window 23:00-06:00 --timezone Europe/Berlin',
          'all limits',
        ],
        ['tock queue set reports --rate none', 'remove the rate, keep the rest'],
        ['tock queue set mail --relay none', 'ticks and daemons execute its runs again'],
        ['tock queue set mail --relay sql', 'workers in any language take its runs by tock.claim'],
        ["tock queue set mail --fair '$.tenant'", 'tenants take turns; --fair none ends that'],
        ['tock queue set mail --concurrency 2 --until +2h', 'in two hours what code states holds again'],
      ),
    )
    .action(action(set));
}

function addReset(queue: Command): Command {
  return withJson(queue.command('reset'))
    .summary('reset a queue to its code')
    .description(
      'Ends all that was set in a queue on top of the code: what code states (defineQueue) holds again. A pause stays.',
    )
    .argument('<queue>', 'name of the queue')
    .addHelpText('after', examples(['tock queue reset mail', 'as its code states, from now on']))
    .action(action(reset));
}

function addPause(queue: Command): Command {
  return withJson(queue.command('pause'))
    .summary('let no run of a queue start')
    .description(
      'Pauses a queue on all hosts: none of its runs starts until it is resumed, or until --until. Running runs go on.',
    )
    .argument('<queue>', 'name of the queue')
    .option('--until <time>', 'when it ends by itself, such as +2h, 14:30 or 2026-03-09T08:00:00Z', end)
    .option('--note <text>', 'why; shown by tock queue and tock why')
    .option('--new', 'also a queue that nothing names yet')
    .addHelpText('after', examples(["tock queue pause reports --note 'stocktaking'", 'with a reason']))
    .action(action(pause));
}

function addResume(queue: Command): Command {
  return withJson(queue.command('resume'))
    .summary('end the pause of a queue')
    .description(
      'Ends the pause of a queue. Says how many runs start and how old the oldest is, and asks. Without a rate they start as fast as workers take them, within its limits.',
    )
    .argument('<queue>', 'name of the queue')
    .option(
      '--rate <n/duration>',
      'at most so many starts per period, such as 5/s, until it is changed',
      rate,
    )
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      examples(
        ['tock queue resume reports', 'see what waits, and decide'],
        ['tock queue resume reports --rate 5/s', 'slowly; tock queue set reports --rate none lifts it'],
      ),
    )
    .action(action(resume));
}

function addRemove(queue: Command): Command {
  return withJson(queue.command('remove'))
    .summary('remove all limits and the pause of a queue')
    .description(
      'Removes all limits and the pause of a queue. Its runs stay. If some of them wait, says how many, and asks.',
    )
    .argument('<queue>', 'name of the queue')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples(['tock queue remove reports', 'no limits from now on']))
    .action(action(remove));
}

function checkQueue(name: string): string {
  return checkName(name, 'queue', 'TOCK_BAD_OPTION');
}

async function listOrShow(shell: Shell, flags: CommonOptions, word: string | undefined): Promise<number> {
  if (word === undefined) return await list(shell, flags);
  const near = didYouMean(word, SUBCOMMANDS);
  const hint = near === '' ? '' : `, and it is no command${near} (see tock queue --help)`;
  return await showQueue(shell, checkQueue(word), hint);
}

async function list(shell: Shell, _flags: CommonOptions): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const queues = await tock.queues.list();
    shell.document({ queues });
    if (shell.json) return 0;
    if (queues.length === 0) shell.say('no queue has limits, a pause or live runs');
    else shell.say(await drawQueues(queues));
    return 0;
  });
}

async function set(shell: Shell, flags: LimitFlags, name: string): Promise<number> {
  checkQueue(name);
  const limits = readLimitFlags(flags);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const queue = await tock.queues.set(name, limits);
    report(shell, queue, limitWords(queue) || 'no limits');
    for (const line of overrideLines(queue)) shell.say(`  ${line}`);
    return 0;
  });
}

async function reset(shell: Shell, _flags: CommonOptions, name: string): Promise<number> {
  checkQueue(name);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const queue = await tock.queues.reset(name);
    return report(shell, queue, `as its code states: ${limitWords(queue) || 'no limits'}`);
  });
}

async function pause(shell: Shell, { note, until, new: isNew }: PauseFlags, name: string): Promise<number> {
  checkQueue(name);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    if (isNew !== true) await requireNamed(tock, name, '; --new pauses it all the same');
    const queue = await tock.queues.pause(name, {
      ...(note === undefined ? {} : { note }),
      ...(until === undefined ? {} : { until }),
    });
    return report(
      shell,
      queue,
      `${pauseWords(queue)}; none of its runs starts until ${queue.pausedUntil === null ? '' : 'then, or '}tock queue resume ${cleanLine(name)}`,
    );
  });
}

async function resume(shell: Shell, flags: ResumeFlags, name: string): Promise<number> {
  checkQueue(name);
  const { rate, yes } = flags;
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const { wasPaused: isPaused, backlog } = await tock.queues.resume(name, { dryRun: true });
    const pace = rate === undefined ? '' : `, at most ${rate.count} per ${rate.per}`;
    const question = `resume ${cleanLine(name)}: ${backlogWords(backlog)}${pace}`;
    if (isPaused && backlog.count > 0 && !(await isConfirmed(shell, yes, question))) {
      shell.note('nothing was changed');
      return 1;
    }
    const queue = await tock.queues.resume(name, rate === undefined ? {} : { rate });
    const limits = limitWords(queue);
    const text = queue.wasPaused ? 'is no longer paused' : 'was not paused';
    return report(shell, queue, `${text}${limits === '' ? '' : `; its limits: ${limits}`}`);
  });
}

async function remove(shell: Shell, { yes }: ConfirmedFlags, name: string): Promise<number> {
  checkQueue(name);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const { backlog, ...queue } = await tock.queues.resume(name, { dryRun: true });
    const held = limitWords(queue) !== '' || queue.wasPaused;
    const what = queue.wasPaused ? 'all limits and the pause' : 'all limits';
    const question = `remove ${what} of ${cleanLine(name)}: ${backlogWords(backlog)}`;
    if (held && backlog.count > 0 && !(await isConfirmed(shell, yes, question))) {
      shell.note('nothing was changed');
      return 1;
    }
    const removed = await tock.queues.remove(name);
    shell.document({ queue: name, removed });
    const text = removed ? 'now has no limits and no pause' : 'had neither limits nor a pause';
    shell.say(`${paint('bold', cleanLine(name))} ${text}`);
    return 0;
  });
}

function report(shell: Shell, queue: QueueRecord, text: string): number {
  shell.document({ queue });
  shell.say(`${paint('bold', cleanLine(queue.name))}: ${text} (${contentWords(queue)})`);
  return 0;
}
