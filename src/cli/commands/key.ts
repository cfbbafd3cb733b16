// `tock key list`, `show`, `set`, `open` and `reset`.
import { type Command, InvalidArgumentError } from 'commander';
import { formatDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { MAX_WAITING, waitingText } from '../../model/explain/fair-turn.js';
import { keyText } from '../../model/explain/slot.js';
import type { KeyRate } from '../../model/job/fair/fair.js';
import type { KeyRecord, KeySettings, KeyState } from '../../model/job/fair/key-methods.js';
import { quote } from '../../model/names.js';
import { didYouMean } from '../../model/nearest.js';
import type { QueueLimits } from '../../model/queue/queue-limits.js';
import { count, examples, NONE, orNone, rate, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { cleanLine, cut, paint } from '../terminal.js';
import { type Cell, type Column, drawTable } from '../views/table.js';
import { localTime } from '../views/time-text.js';

interface SetFlags extends CommonOptions {
  readonly weight?: number | typeof NONE;
  readonly limit?: number | typeof NONE;
  readonly rate?: NonNullable<QueueLimits['rate']> | typeof NONE;
  readonly burst?: number;
}

const SUBCOMMANDS = ['list', 'show', 'set', 'open', 'reset'];

export function addKey(program: Command): Command {
  const key = withJson(program.command('key'))
    .summary('weights, limits and rates of single keys, such as one tenant')
    .description(
      'Single keys of jobs and queues whose runs share the workers by a key (fair). Without a subcommand, lists the keys that have settings or are closed.',
    )
    .argument('[list|show|set|open|reset]', 'what to do (default list); see tock key set --help')
    .enablePositionalOptions()
    .addHelpText(
      'after',
      examples(
        ['tock key show 17', 'what waits under the key 17, and why it does not start'],
        ['tock key set 17 --weight 3', 'three runs of it for one of each other key'],
        ['tock key open 17', 'a handler has closed it, and its API answers again'],
      ),
    )
    .action(action(listOrRefuse));
  withJson(key.command('list'))
    .summary('list the keys that have settings or are closed')
    .description('Lists the keys that have settings, and those that handlers have closed.')
    .addHelpText('after', examples(["tock key list --json | jq '.keys[].key'", 'for a script']))
    .action(action(list));
  withJson(key.command('show'))
    .summary('show one key')
    .description('Shows the settings of a key, what waits under it, and until when it is closed.')
    .argument('<key>', 'the key, as the payloads have it: 17')
    .addHelpText(
      'after',
      examples(['tock key show 17', 'for people'], ['tock key show 17 --json', 'for a script']),
    )
    .action(action(show));
  withJson(key.command('set'))
    .summary('set weight, limit or rate of a key')
    .description(
      'Sets what is given and keeps the rest; “none” removes one, and what the job or queue says holds again. Applies on all hosts from the next claim on; running runs are not touched.',
    )
    .argument('<key>', 'the key, as the payloads have it: 17')
    .option('--weight <n>', 'its share beside the other keys: 0.001 to 1000 (default 1)', orNone(weight))
    .option('--limit <n>', 'maximum of its runs at once', orNone(count(1, 10_000)))
    .option('--rate <n/duration>', 'maximum of starts per period, such as 100/1m', orNone(rate))
    .option('--burst <n>', 'with --rate: how many starts it may save up', count(1, 1_000_000))
    .addHelpText(
      'after',
      examples(
        ['tock key set 17 --weight 3 --limit 40', 'more for one tenant, and no more than 40 at once'],
        [
          'tock key set 17 --rate 100/1m --burst 10',
          'a hundred per minute; ten that it saved up may start together',
        ],
        ['tock key set 17 --rate none', 'as the job or queue says'],
      ),
    )
    .action(action(set));
  withJson(key.command('open'))
    .summary('open a key that a handler has closed')
    .description('Opens a key that a handler has closed by ctx.closeUntil: its runs start again.')
    .argument('<key>', 'the key, as the payloads have it: 17')
    .addHelpText('after', examples(['tock key open 17', 'its API answers again']))
    .action(action(open));
  withJson(key.command('reset'))
    .summary('remove the settings of a key')
    .description('Removes the settings of a key: what its jobs and queues say holds again.')
    .argument('<key>', 'the key, as the payloads have it: 17')
    .addHelpText('after', examples(['tock key reset 17', 'like every other']))
    .action(action(reset));
  for (const each of key.commands) each.helpOption('-h, --help', 'print this help');
  return key;
}

function weight(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0.001 && value <= 1000) return value;
  throw new InvalidArgumentError('write a number from 0.001 to 1000');
}

async function listOrRefuse(shell: Shell, flags: CommonOptions, word: string | undefined): Promise<number> {
  if (word === undefined) return await list(shell, flags);
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${quote(word)} is not a command${didYouMean(word, SUBCOMMANDS)}: tock key list, show, set, open or reset (see tock key --help)`,
  );
}

const COLUMNS: readonly Column[] = [
  { title: 'key', flexible: true },
  { title: 'weight', align: 'right' },
  { title: 'settings', flexible: true },
  { title: 'waiting', align: 'right' },
  { title: 'closed', flexible: true },
];

async function list(shell: Shell, _flags: CommonOptions): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const keys = await tock.keys.list();
    shell.document({ keys });
    if (shell.json) return 0;
    if (keys.length === 0) shell.say('no key has settings, and none is closed');
    else
      shell.say(
        await drawTable(
          COLUMNS,
          keys.map((key): Cell[] => [
            cut(cleanLine(key.key), 200),
            `${key.weight}`,
            settingWords(key) || { text: 'none', colour: 'dim' },
            waitingWords(key.states),
            { text: closedWords(key.states), colour: 'yellow' },
          ]),
        ),
      );
    return 0;
  });
}

async function show(shell: Shell, _flags: CommonOptions, name: string): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const key = await tock.keys.get(name);
    shell.document({ key });
    if (shell.json) return 0;
    shell.say(`${paint('bold', cleanLine(key.key))}: ${shareWords(key)}`);
    if (key.states.length === 0) shell.say('nothing waits under it');
    for (const state of key.states) shell.say(`  ${stateWords(state)}`);
    return 0;
  });
}

async function set(shell: Shell, flags: SetFlags, name: string): Promise<number> {
  const { weight, limit, rate, burst } = flags;
  if (burst !== undefined && (rate === undefined || rate === NONE))
    throw new TockError('TOCK_BAD_OPTION', '--burst belongs to a rate: give --rate too');
  const settings: KeySettings = {
    ...(weight === undefined ? {} : { weight: weight === NONE ? null : weight }),
    ...(limit === undefined ? {} : { limit: limit === NONE ? null : limit }),
    ...(rate === undefined ? {} : { rate: rate === NONE ? null : keyRate(rate, burst) }),
  };
  if (Object.keys(settings).length === 0)
    throw new TockError('TOCK_BAD_OPTION', 'give at least one of --weight, --limit and --rate');
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const key = await tock.keys.set(name, settings);
    shell.document({ key });
    shell.say(`${paint('bold', cleanLine(key.key))}: ${shareWords(key)}`);
    return 0;
  });
}

const keyRate = (
  { count: limit, per }: NonNullable<QueueLimits['rate']>,
  burst: number | undefined,
): KeyRate => ({
  limit,
  per,
  ...(burst === undefined ? {} : { burst }),
});

async function open(shell: Shell, _flags: CommonOptions, name: string): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const opened = await tock.keys.open(name);
    shell.document({ key: name, opened });
    shell.say(`${paint('bold', cleanLine(name))} ${opened ? 'is open again' : 'was not closed'}`);
    return 0;
  });
}

async function reset(shell: Shell, _flags: CommonOptions, name: string): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const removed = await tock.keys.reset(name);
    shell.document({ key: name, removed });
    shell.say(
      `${paint('bold', cleanLine(name))} ${removed ? 'has no settings any more' : 'had no settings'}`,
    );
    return 0;
  });
}

function settingWords({ limit, rate }: KeyRecord): string {
  return [
    limit === null ? null : `${limit} at once`,
    rate === null ? null : `${rate.limit} per ${formatDuration(rate.perMs)}, bursts of ${rate.burst}`,
  ]
    .filter(part => part !== null)
    .join('; ');
}

const shareWords = (key: KeyRecord) => [`weight ${key.weight}`, settingWords(key)].filter(Boolean).join('; ');

function waitingWords(states: readonly KeyState[]): string {
  const total = states.reduce((sum, { waiting }) => sum + Math.min(waiting, MAX_WAITING), 0);
  return `${total}${states.some(({ waiting }) => waiting > MAX_WAITING) ? '+' : ''}`;
}

function closedWords(states: readonly KeyState[]): string {
  const times = states.flatMap(({ closedUntil }) => (closedUntil === null ? [] : [closedUntil.getTime()]));
  return times.length === 0 ? '' : `until ${localTime(new Date(Math.max(...times)))}`;
}

function stateWords({
  queue,
  job,
  waiting,
  held,
  heldBy,
  limit,
  closedUntil,
  waitsFor,
  nextAt,
}: KeyState): string {
  return [
    `${job === null ? `queue ${cleanLine(queue)}` : `job ${cleanLine(job)} in queue ${cleanLine(queue)}`}: ${waitingText(waiting)} waiting`,
    limit === null ? null : `${held} of ${limit} at once`,
    heldBy === null ? null : `its order is strict: run ${heldBy} comes first`,
    closedUntil === null ? null : `closed until ${localTime(closedUntil)}`,
    waitsFor === null ? null : `waits for ${cleanLine(keyText(waitsFor, null))}`,
    closedUntil !== null || nextAt === null ? null : `next start at ${localTime(nextAt)} at the earliest`,
  ]
    .filter(part => part !== null)
    .join(', ');
}
