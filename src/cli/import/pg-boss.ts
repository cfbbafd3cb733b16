// `tock import pg-boss`: definitions from the schedules of pg-boss.
import type { Command } from 'commander';
import { handlersOf } from '../../import/code/handler-code.js';
import { apart, type Found } from '../../import/elsewhere/taken.js';
import { objectOf, textOf } from '../../import/elsewhere/values.js';
import {
  type BossSchedule,
  bossNotes,
  labelOf,
  translateBossSchedule,
} from '../../import/pg-boss/boss-schedule.js';
import type { BossRow } from '../../import/pg-boss/read-pg-boss.js';
import { TockError } from '../../model/errors.js';
import { examples, withJson } from '../flags/flags.js';
import { action, type Shell } from '../shell.js';
import { checkFoundFlags, type FoundFlags, finishImport } from './finish-import.js';
import { withDatabaseFlags, withFoundFlags } from './found-flags.js';
import { type SourceFlags, sourceUrl } from './source-url.js';
import { switchFound, takenInCode } from './switch-found.js';

interface BossFlags extends FoundFlags, SourceFlags {
  readonly schema?: string;
}

const WORDS = { command: 'pg-boss', system: 'pg-boss' };

export function addPgBoss(command: Command): Command {
  return withDatabaseFlags(withFoundFlags(withJson(command.command('pg-boss'))))
    .summary('definitions from the schedules of pg-boss')
    .description(
      'Reads the schedules of pg-boss and writes a job for each, in TypeScript to be reviewed, with a report of what differs. The handlers are your own code: until it is moved, their runs fail. Changes nothing without --switch, which removes the schedules that are in the job module, and keeps them in a file.',
    )
    .option('--schema <name>', 'the schema of pg-boss', 'pgboss')
    .option('--switch', 'remove the schedules whose definitions are in the job module')
    .addHelpText(
      'after',
      examples(
        ['tock import pg-boss', 'look at code and report'],
        ['tock import pg-boss --out jobs/pg-boss.ts', 'write definitions'],
        ['tock import pg-boss --switch', 'remove the schedules from pg-boss'],
      ),
    )
    .action(action(importPgBoss));
}

async function importPgBoss(shell: Shell, flags: BossFlags): Promise<number> {
  checkFoundFlags(flags);
  const url = sourceUrl(shell, flags);
  const schema = flags.schema ?? 'pgboss';
  const [{ withSource }, { readPgBoss, removeBossSchedules }] = await Promise.all([
    import('../../import/open-source.js'),
    import('../../import/pg-boss/read-pg-boss.js'),
  ]);
  return await withSource(url, async database => {
    const table = await readPgBoss(database, schema);
    if (table.rows.length === 0)
      throw new TockError(
        'TOCK_NOT_FOUND',
        `pg-boss has no schedule in the schema ${schema} of ${table.database}: there is nothing to import`,
      );
    const schedules = table.rows.map(readRow);
    const found = foundIn(schedules, `pg-boss in ${table.database}`);
    if (!flags.switch) return await finishImport(shell, flags, WORDS, found);
    const taken = await takenInCode(shell, found, WORDS.command);
    const chosen = new Set(taken.map(({ from }) => from));
    const keys = schedules.filter(schedule => chosen.has(labelOf(schedule)));
    const count = `${keys.length} schedule${keys.length === 1 ? '' : 's'} of pg-boss`;
    const words = { action: `remove ${count}`, done: 'removed from pg-boss:' };
    return await switchFound(shell, flags.yes, taken, words, async keep => {
      const removed = await removeBossSchedules(database, schema, keys, rows =>
        keep({ system: 'pg-boss', database: table.database, schema, rows }),
      );
      return removed.length;
    });
  });
}

function foundIn(schedules: readonly BossSchedule[], source: string): Found {
  const handlers = handlersOf(
    schedules.map(({ name }) => name),
    name => `boss.work('${name}', …)`,
  );
  const names = new Set<string>();
  const results = schedules.map(schedule => translateBossSchedule(schedule, handlers.names, names));
  const { taken, left } = apart(results);
  const used = new Set(taken.map(({ job }) => job.run ?? ''));
  const functions = handlers.functions.filter((_, index) =>
    used.has([...handlers.names.values()][index] ?? ''),
  );
  const head = {
    names: functions.length === 0 ? [] : ['Dead', 'type JobContext'],
    functions,
    taken: new Set(handlers.names.values()),
  };
  return { source, taken, left, notes: bossNotes(), head };
}

function readRow({ schedule, queue }: BossRow): BossSchedule {
  return {
    name: textOf(schedule['name']) ?? '',
    key: textOf(schedule['key']) ?? '',
    cron: textOf(schedule['cron']) ?? '',
    timezone: textOf(schedule['timezone']),
    data: schedule['data'],
    options: objectOf(schedule['options']),
    queue: objectOf(queue),
  };
}
