// `tock import graphile-worker`: definitions from its crontab.
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { handlersOf } from '../../import/code/handler-code.js';
import { apart, type Found, type LeftSchedule } from '../../import/elsewhere/taken.js';
import { type CronItems, readCronItems } from '../../import/graphile-worker/cron-item.js';
import { callTasks, graphileHead, type TaskFile } from '../../import/graphile-worker/task-code.js';
import {
  graphileNotes,
  type KnownCrontab,
  leftOnlyKnown,
  translateCronItem,
} from '../../import/graphile-worker/translate.js';
import { TockError } from '../../model/errors.js';
import { type CrontabSource, readSources, textOf } from '../../runtime/crontab-sources.js';
import { examples, withJson } from '../flags/flags.js';
import { action, type Shell } from '../shell.js';
import { checkFoundFlags, type FoundFlags, finishImport } from './finish-import.js';
import { withDatabaseFlags, withFoundFlags } from './found-flags.js';
import { type SourceFlags, sourceUrl } from './source-url.js';
import { switchLines } from './switch-crontab.js';
import { takenInCode } from './switch-found.js';

interface GraphileFlags extends FoundFlags, SourceFlags {
  readonly schema?: string;
  readonly tasks?: string;
}

const WORDS = { command: 'graphile-worker', system: 'graphile-worker' };
const FILE = 'crontab';
const ENDINGS = ['js', 'mjs', 'cjs', 'ts', 'mts', 'cts'];

export function addGraphileWorker(command: Command): Command {
  return withDatabaseFlags(withFoundFlags(withJson(command.command('graphile-worker'))))
    .summary('definitions from the crontab of graphile-worker')
    .description(
      'Reads the crontab of graphile-worker and writes a job for each line, in TypeScript to be reviewed, with a report of what differs. With --tasks the definitions call your tasks as they are; without it, their runs fail until the code is moved. With --database or --schema it also names the items that the database knows and the crontab does not hold. Changes nothing without --switch, which comments out the lines that are in the job module.',
    )
    .argument('[file]', `the crontab, or - for standard input (default ./${FILE})`)
    .option('--tasks <folder>', 'the folder of tasks, which the definitions are to import')
    .option('--schema <name>', 'the schema of graphile-worker (default graphile_worker)')
    .option('--switch', 'comment out the lines whose definitions are in the job module')
    .addHelpText(
      'after',
      examples(
        ['tock import graphile-worker', 'look at code and report'],
        [
          'tock import graphile-worker --tasks tasks --out jobs/graphile.ts',
          'definitions that call the tasks',
        ],
        ['tock import graphile-worker --switch', 'comment out the lines'],
      ),
    )
    .action(action(importGraphileWorker));
}

async function importGraphileWorker(
  shell: Shell,
  flags: GraphileFlags,
  file: string | undefined,
): Promise<number> {
  checkFoundFlags(flags);
  if (flags.switch && file === '-')
    throw new TockError('TOCK_BAD_OPTION', 'standard input cannot be changed: name the file');
  const source = await readSource(file);
  const items = readCronItems(textOf(source).text);
  if (items.items.length + items.bad.length === 0)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `${source.source} has no line with a task: there is nothing to import`,
    );
  const known = await readKnown(shell, flags);
  const found = foundIn(items, known, source, flags);
  if (!flags.switch) return await finishImport(shell, flags, WORDS, found);
  const taken = await takenInCode(shell, found, WORDS.command);
  const chosen = new Set(taken.map(({ from }) => from));
  const lines = items.items.map(({ line }) => line).filter(line => chosen.has(`line ${line}`));
  const code = await switchLines(shell, source, lines, flags.yes);
  if (code === 0) shell.say('now restart the workers: until then they go by the crontab that they have read');
  return code;
}

async function readSource(file: string | undefined): Promise<CrontabSource> {
  if (file === undefined && !existsSync(FILE))
    throw new TockError(
      'TOCK_BAD_OPTION',
      `there is no ./${FILE}, which graphile-worker reads by default: name the crontab, or - for standard input`,
    );
  const isFolder = file !== undefined && file !== '-' && existsSync(file) && statSync(file).isDirectory();
  const [source] = isFolder ? [] : await readSources({ file: file ?? FILE, system: false, kind: 'debian' });
  if (source === undefined)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `${file ?? FILE} is a folder: name the crontab of graphile-worker`,
    );
  return source;
}

/** Null: it is not asked for. */
async function readKnown(shell: Shell, flags: GraphileFlags): Promise<KnownCrontab[] | null> {
  if (flags.database === undefined && flags.schema === undefined) return null;
  const [{ withSource }, { readKnownCrontabs }] = await Promise.all([
    import('../../import/open-source.js'),
    import('../../import/graphile-worker/read-graphile-worker.js'),
  ]);
  const schema = flags.schema ?? 'graphile_worker';
  return await withSource(sourceUrl(shell, flags), database => readKnownCrontabs(database, schema));
}

function foundIn(
  { items, bad }: CronItems,
  known: KnownCrontab[] | null,
  { source }: CrontabSource,
  { tasks, out }: GraphileFlags,
): Found {
  const all = new Set(items.map(({ task }) => task));
  const files = tasks === undefined ? [] : [...all].flatMap(task => fileOf(task, tasks, out));
  const called = callTasks(files);
  const waiting = handlersOf(
    [...all].filter(task => !called.handlers.has(task)),
    task => `the task ${task}`,
  );
  const handlers = new Map([...called.handlers, ...waiting.names]);
  const names = new Set<string>();
  const refused: LeftSchedule[] = bad.map(({ line, problem }) => ({
    from: `line ${line}`,
    problem,
    remedy: 'graphile-worker refuses the whole crontab for it: correct it or delete it',
  }));
  const { taken, left } = apart(items.map(item => translateCronItem(item, handlers, names)));
  return {
    source,
    taken,
    left: [...refused, ...left, ...leftOnlyKnown(known ?? [], items)],
    notes: graphileNotes(tasks !== undefined),
    head: graphileHead(called, waiting),
  };
}

/** @throws TockError TOCK_NOT_FOUND if the folder, or the file of the task, is not there */
function fileOf(task: string, folder: string, out: string | undefined): TaskFile[] {
  if (!existsSync(folder)) throw new TockError('TOCK_NOT_FOUND', `there is no folder ${folder} (--tasks)`);
  const ending = ENDINGS.find(each => existsSync(path.join(folder, `${task}.${each}`)));
  if (ending === undefined)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `${folder} has no file ${task}.js or ${task}.ts for the task ${task} (--tasks): an executable, or a task in code? Without --tasks its definition says what to move`,
    );
  const target = path.join(folder, `${task}.${ending.replace('ts', 'js')}`);
  const relative = path
    .relative(out === undefined ? '.' : path.dirname(out), target)
    .replaceAll(path.sep, '/');
  return [{ task, specifier: relative.startsWith('.') ? relative : `./${relative}` }];
}
