// `tock queue list`, `set`, `pause`, `resume` and `remove`.
import { type Command, InvalidArgumentError } from 'commander';
import { TockError } from '../../model/errors.js';
import { period } from '../../model/explain/queue-state.js';
import { checkName, quote } from '../../model/names.js';
import { didYouMean } from '../../model/nearest.js';
import type { QueueLimits, QueueRecord } from '../../model/queue-methods.js';
import { isConfirmed } from '../confirm.js';
import { count, duration, examples, NONE, orNone, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';
import { backlogWords, contentWords, drawQueues, limitWords, pauseWords } from '../views/queue-text.js';

interface SetFlags extends CommonOptions {
  readonly concurrency?: number | typeof NONE;
  readonly rate?: NonNullable<QueueLimits['rate']> | typeof NONE;
  readonly window?: string | typeof NONE;
  readonly timezone?: string | typeof NONE;
  readonly relay?: string | typeof NONE;
}

interface ConfirmedFlags extends CommonOptions {
  readonly yes?: true;
}

interface ResumeFlags extends ConfirmedFlags {
  readonly rate?: NonNullable<QueueLimits['rate']>;
}

interface PauseFlags extends CommonOptions {
  readonly note?: string;
}

const SUBCOMMANDS = ['list', 'set', 'pause', 'resume', 'remove'];

export function addQueue(program: Command): Command {
  const queue = withJson(program.command('queue'))
    .summary('list queues, set their limits, pause and resume them')
    .description(
      'Queues and their limits, which hold across all hosts: how many runs at once, how many starts per period, in which hours. Without a subcommand, lists the queues. Queues need no setup: a queue exists as soon as a run names it.',
    )
    .argument('[list|set|pause|resume|remove]', 'what to do (default list); see tock queue set --help')
    // Lets --json after the subcommand belong to the subcommand.
    .enablePositionalOptions()
    .addHelpText(
      'after',
      examples(
        ['tock queue', 'what waits and runs in each, its limits, and whether it is paused'],
        ['tock queue set reports --concurrency 3 --rate 100/1m', 'three at once, a hundred per minute'],
        ["tock queue pause reports --note 'the printer is on fire'", 'no run of it starts'],
      ),
    )
    .action(action(listOrRefuse));
  for (const add of [addList, addSet, addPause, addResume, addRemove])
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
  return withJson(queue.command('set'))
    .summary('set limits of a queue')
    .description(
      'Sets the given limits and keeps the others; “none” removes a limit. Applies on all hosts from the next claim on; running runs are not touched.',
    )
    .argument('<queue>', 'name of the queue')
    .option('--concurrency <n>', 'maximum of runs at once; 0 lets none start', orNone(count(0, 1_000_000)))
    .option(
      '--rate <n/duration>',
      'maximum of starts per period, spread evenly, such as 100/1m',
      orNone(rate),
    )
    .option(
      '--window <HH:MM-HH:MM>',
      'runs start only in these hours, such as 23:00-06:00',
      orNone(unchanged),
    )
    .option('--timezone <zone>', 'time zone of these hours: IANA name (default UTC)', orNone(unchanged))
    .option(
      '--relay <broker>',
      'only workers that name the queue claim from it, such as a relay to this broker; none: all workers do',
      orNone(unchanged),
    )
    .addHelpText(
      'after',
      examples(
        [
          'tock queue set reports --concurrency 3 --rate 100/1m --window 23:00-06:00 --timezone Europe/Berlin',
          'all limits',
        ],
        ['tock queue set reports --rate none', 'remove the rate, keep the rest'],
        ['tock queue set mail --relay none', 'ticks and daemons execute its runs again'],
      ),
    )
    .action(action(set));
}

function addPause(queue: Command): Command {
  return withJson(queue.command('pause'))
    .summary('let no run of a queue start')
    .description(
      'Pauses a queue on all hosts: none of its runs starts until it is resumed. Running runs go on.',
    )
    .argument('<queue>', 'name of the queue')
    .option('--note <text>', 'why; shown by tock queue and tock why')
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

function rate(text: string): NonNullable<QueueLimits['rate']> {
  const [, starts = '', per = ''] = /^\s*(\d{1,7})\s*\/\s*(\S+)\s*$/.exec(text) ?? [];
  if (starts === '') throw new InvalidArgumentError('write it as 5/s or 100/1m: starts per period');
  return { count: count(1, 1_000_000)(starts), per: duration(period(per)) };
}

function unchanged(text: string): string {
  return text;
}

function checkQueue(name: string): string {
  return checkName(name, 'queue', 'TOCK_BAD_OPTION');
}

async function listOrRefuse(shell: Shell, flags: CommonOptions, word: string | undefined): Promise<number> {
  if (word === undefined) return await list(shell, flags);
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${quote(word)} is not a command${didYouMean(word, SUBCOMMANDS)}: tock queue list, set, pause, resume or remove (see tock queue --help)`,
  );
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

async function set(shell: Shell, flags: SetFlags, name: string): Promise<number> {
  checkQueue(name);
  const { concurrency, rate, window, timezone, relay } = flags;
  const limits: QueueLimits = {
    ...(concurrency === undefined ? {} : { concurrency: concurrency === NONE ? null : concurrency }),
    ...(rate === undefined ? {} : { rate: rate === NONE ? null : rate }),
    ...(window === undefined ? {} : { window: window === NONE ? null : window }),
    ...(timezone === undefined ? {} : { timezone: timezone === NONE ? 'UTC' : timezone }),
    ...(relay === undefined ? {} : { relay: relay === NONE ? null : relay }),
  };
  if (Object.keys(limits).length === 0)
    throw new TockError(
      'TOCK_BAD_OPTION',
      'give at least one of --concurrency, --rate, --window, --timezone and --relay',
    );
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const queue = await tock.queues.set(name, limits);
    return report(shell, queue, limitWords(queue) || 'no limits');
  });
}

async function pause(shell: Shell, { note }: PauseFlags, name: string): Promise<number> {
  checkQueue(name);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const queue = await tock.queues.pause(name, note === undefined ? {} : { note });
    return report(
      shell,
      queue,
      `${pauseWords(queue)}; none of its runs starts until tock queue resume ${cleanLine(name)}`,
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
