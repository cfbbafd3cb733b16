// Shell: cli. `tock queue list`, `set`, `pause`, `resume` and `remove`: limits of queues over all hosts, and their pauses.
// In: a queue's name and flags. Out: the queue as it is then; or all queues.
import { type Command, InvalidArgumentError } from 'commander';
import type { QueueLimits } from '../../engine/operate/queues.js';
import { TockError } from '../../model/errors.js';
import { checkName, quote } from '../../model/names.js';
import { didYouMean } from '../../model/nearest.js';
import type { QueueRecord } from '../../store/reads/queues.js';
import { count, duration, examples, NONE, orNone, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';
import { contentWords, drawQueues, limitWords, pauseWords } from '../views/queue-text.js';

interface SetFlags extends CommonOptions {
  readonly concurrency?: number | typeof NONE;
  readonly rate?: NonNullable<QueueLimits['rate']> | typeof NONE;
  readonly window?: string | typeof NONE;
  readonly timezone?: string | typeof NONE;
}

interface PauseFlags extends CommonOptions {
  readonly note?: string;
}

const WORDS = ['list', 'set', 'pause', 'resume', 'remove'];

export function addQueue(program: Command): Command {
  const queue = withJson(program.command('queue'))
    .summary('list queues, set their limits, pause and resume them')
    .description(
      'Queues and their limits, which hold over all hosts: how many runs at once, how many starts per period, in which hours. Alone it lists them. A queue needs not be made: it is there as soon as a run names it.',
    )
    .argument('[list|set|pause|resume|remove]', 'what to do (default list); see tock queue set --help')
    // So that --json after the command's own command is that one's.
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
    .description('Lists the queues that have limits or a pause, or runs that are live.')
    .addHelpText('after', examples(["tock queue list --json | jq '.queues[].waiting'", 'for a monitor']))
    .action(action(list));
}

function addSet(queue: Command): Command {
  return withJson(queue.command('set'))
    .summary('set limits of a queue')
    .description(
      'Sets what is given and keeps the rest; “none” takes a limit back. Holds over all hosts from the next claim on; runs that are running are not touched.',
    )
    .argument('<queue>', 'name of the queue')
    .option('--concurrency <n>', 'most runs at once; 0 lets none start', orNone(count(0, 1_000_000)))
    .option('--rate <n/duration>', 'most starts per period, spread evenly, such as 100/1m', orNone(rate))
    .option('--window <HH:MM-HH:MM>', 'runs start only in these hours, such as 23:00-06:00', orNone(same))
    .option('--timezone <zone>', 'whose hours those are: IANA name (default UTC)', orNone(same))
    .addHelpText(
      'after',
      examples(
        [
          'tock queue set reports --concurrency 3 --rate 100/1m --window 23:00-06:00 --timezone Europe/Berlin',
          'all of them',
        ],
        ['tock queue set reports --rate none', 'no rate any more; the rest stays'],
      ),
    )
    .action(action(set));
}

function addPause(queue: Command): Command {
  return withJson(queue.command('pause'))
    .summary('let no run of a queue start')
    .description(
      'Pauses a queue on all hosts: none of its runs starts until it is resumed. What is running goes on.',
    )
    .argument('<queue>', 'name of the queue')
    .option('--note <text>', 'why; shown by tock queue and tock why')
    .addHelpText('after', examples(["tock queue pause reports --note 'stocktaking'", 'and say why']))
    .action(action(pause));
}

function addResume(queue: Command): Command {
  return withJson(queue.command('resume'))
    .summary('end the pause of a queue')
    .description(
      'Ends the pause of a queue. Its runs that are due start at once, as far as its limits let them.',
    )
    .argument('<queue>', 'name of the queue')
    .addHelpText('after', examples(['tock queue resume reports', 'and see what waits']))
    .action(action(resume));
}

function addRemove(queue: Command): Command {
  return withJson(queue.command('remove'))
    .summary('take all limits and the pause of a queue back')
    .description('Takes all limits and the pause of a queue back. Its runs stay.')
    .argument('<queue>', 'name of the queue')
    .addHelpText('after', examples(['tock queue remove reports', 'no limits any more']))
    .action(action(remove));
}

/** `100/1m` */
function rate(text: string): NonNullable<QueueLimits['rate']> {
  const [, most = '', per = ''] = /^\s*(\d{1,7})\s*\/\s*(\S+)\s*$/.exec(text) ?? [];
  if (most === '') throw new InvalidArgumentError('write it as 100/1m: how many starts in which time');
  return { count: count(1, 1_000_000)(most), per: duration(per) };
}

function same(text: string): string {
  return text;
}

function checkQueue(name: string): string {
  return checkName(name, 'queue', 'TOCK_BAD_OPTION');
}

async function listOrRefuse(shell: Shell, flags: CommonOptions, word: string | undefined): Promise<number> {
  if (word === undefined) return await list(shell, flags);
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${quote(word)} is no command${didYouMean(word, WORDS)}: tock queue list, set, pause, resume or remove (see tock queue --help)`,
  );
}

async function list(shell: Shell, _flags: CommonOptions): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const queues = await tock.queues.list();
    shell.document({ queues });
    if (shell.json) return 0;
    if (queues.length === 0) shell.say('no queue has a limit, a pause or a live run');
    else shell.say(await drawQueues(queues));
    return 0;
  });
}

async function set(shell: Shell, flags: SetFlags, name: string): Promise<number> {
  checkQueue(name);
  const { concurrency, rate, window, timezone } = flags;
  const limits: QueueLimits = {
    ...(concurrency === undefined ? {} : { concurrency: concurrency === NONE ? null : concurrency }),
    ...(rate === undefined ? {} : { rate: rate === NONE ? null : rate }),
    ...(window === undefined ? {} : { window: window === NONE ? null : window }),
    ...(timezone === undefined ? {} : { timezone: timezone === NONE ? 'UTC' : timezone }),
  };
  if (Object.keys(limits).length === 0)
    throw new TockError('TOCK_BAD_OPTION', 'say what to set: --concurrency, --rate, --window or --timezone');
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const queue = await tock.queues.set(name, limits);
    return tell(shell, queue, limitWords(queue) || 'no limits');
  });
}

async function pause(shell: Shell, { note }: PauseFlags, name: string): Promise<number> {
  checkQueue(name);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const queue = await tock.queues.pause(name, note === undefined ? {} : { note });
    return tell(
      shell,
      queue,
      `${pauseWords(queue)}; until tock queue resume ${cleanLine(name)} no run of it starts`,
    );
  });
}

async function resume(shell: Shell, _flags: CommonOptions, name: string): Promise<number> {
  checkQueue(name);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const before = (await tock.queues.list()).find(each => each.name === name);
    const queue = await tock.queues.resume(name);
    const limits = limitWords(queue);
    const said = before?.pausedAt ? 'is not paused any more' : 'was not paused';
    return tell(shell, queue, `${said}${limits === '' ? '' : `; its limits: ${limits}`}`);
  });
}

async function remove(shell: Shell, _flags: CommonOptions, name: string): Promise<number> {
  checkQueue(name);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const removed = await tock.queues.remove(name);
    shell.document({ queue: name, removed });
    const said = removed ? 'has no limits and no pause any more' : 'had neither limits nor a pause';
    shell.say(`${paint('bold', cleanLine(name))} ${said}`);
    return 0;
  });
}

function tell(shell: Shell, queue: QueueRecord, said: string): number {
  shell.document({ queue });
  shell.say(`${paint('bold', cleanLine(queue.name))}: ${said} (${contentWords(queue)})`);
  return 0;
}
