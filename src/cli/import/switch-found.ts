// Switches imported schedules off where they ran before, and on again from the file that was kept.
import { readSavedSwitch, type SavedSwitch, savedSwitchText } from '../../import/elsewhere/saved-switch.js';
import type { Found, TakenSchedule } from '../../import/elsewhere/taken.js';
import type { PgCronRow } from '../../import/pg-cron/read-pg-cron.js';
import { TockError } from '../../model/errors.js';
import { shellWord } from '../../model/shell-word.js';
import { loadJobs } from '../../runtime/job-module.js';
import { isConfirmed } from '../confirm.js';
import type { Shell } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';
import { keepCopy } from './switch-crontab.js';

/** Those whose definitions are in the job module. @throws TockError TOCK_NOT_FOUND if there is none */
export async function takenInCode(
  shell: Shell,
  { taken }: Pick<Found, 'taken'>,
  command: string,
): Promise<readonly TakenSchedule[]> {
  const inCode = new Set((await loadJobs(shell.config.jobsModule)).map(({ name }) => name));
  const here = taken.filter(({ job }) => inCode.has(job.name));
  const missing = taken.filter(({ job }) => !inCode.has(job.name));
  if (here.length === 0)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `no definition of these schedules is in ${shell.config.jobsModule ?? 'a job module'}, so nothing would run them: write them with tock import ${command} --out FILE, add importedJobs to the job module, and build`,
    );
  for (const { from, job } of missing)
    shell.note(`${from} stays: no job named ${job.name} is in the job module`);
  return here;
}

export interface SwitchWords {
  /** For the question: `remove 2 schedules of pg-boss`. */
  readonly action: string;
  /** Afterwards: `removed`. */
  readonly done: string;
}

/**
 * Shows what is to be switched off, asks, does it. Resolves to the exit code.
 * @param change switches off; calls `keep` with what is kept for the way back, before its commit
 */
export async function switchFound(
  shell: Shell,
  yes: true | undefined,
  taken: readonly TakenSchedule[],
  { action, done }: SwitchWords,
  change: (keep: (saved: SavedSwitch) => Promise<void>) => Promise<number>,
): Promise<number> {
  for (const { from, job } of taken) shell.say(paint('red', `- ${cleanLine(`${from}: ${job.name}`)}`));
  if (!(await isConfirmed(shell, yes, action))) {
    shell.note('nothing was changed');
    return 1;
  }
  const copies: string[] = [];
  const count = await change(async saved => {
    if (saved.rows.length > 0) copies.push(await keepSwitch(saved));
  });
  const [copy] = copies;
  if (copy === undefined)
    throw new TockError('TOCK_BAD_STATE', 'they have just been changed, so nothing was done; look again');
  shell.document({ switchedOff: count, copy });
  shell.say(`${done} ${count}; Tock runs them from its next tick on`);
  shell.say(`as they were: ${cleanLine(copy)}`);
  shell.say(`to go back: tock import undo ${shellWord(copy)}`);
  return 0;
}

async function keepSwitch(saved: SavedSwitch): Promise<string> {
  const database = saved.database.replace(/[^\w-]/g, '_');
  return await keepCopy(`${saved.system}-of-${database}-`, savedSwitchText(saved), '.json');
}

/** What a file holds that --switch has kept; null: it is no such file, but perhaps a crontab. */
export const savedSwitchOf = (bytes: Buffer): SavedSwitch | null => readSavedSwitch(bytes.toString('utf8'));

/** Puts back what a file holds. Resolves to the exit code. @param url of the database that was changed */
export async function undoFound(
  shell: Shell,
  saved: SavedSwitch,
  url: string,
  yes: true | undefined,
): Promise<number> {
  const { system, database: name, schema, rows } = saved;
  const { databaseName, withSource } = await import('../../import/open-source.js');
  const restored = await withSource(url, async database => {
    const here = await databaseName(database);
    if (here !== name)
      throw new TockError(
        'TOCK_BAD_OPTION',
        `this file is of the database ${name}, and the connection leads to ${here}: name it with --database URL`,
      );
    const count = `${rows.length} schedule${rows.length === 1 ? '' : 's'}`;
    if (!(await isConfirmed(shell, yes, `let ${system} run ${count} again`))) return null;
    if (system === 'pg-boss') {
      const { restoreBossSchedules } = await import('../../import/pg-boss/read-pg-boss.js');
      return await restoreBossSchedules(database, schema ?? 'pgboss', rows);
    }
    const { setPgCronActive } = await import('../../import/pg-cron/read-pg-cron.js');
    const jobs = rows.map(row => JSON.parse(row) as PgCronRow);
    return (await setPgCronActive(database, jobs, true, () => Promise.resolve())).length;
  });
  if (restored === null) {
    shell.note('nothing was changed');
    return 1;
  }
  const changed = rows.length - restored;
  shell.document({ restored, left: changed });
  shell.say(
    `${system} runs ${restored} again${changed === 0 ? '' : `; ${changed} left, which have been changed since, or run there again already`}`,
  );
  shell.say(
    'Tock still has the definitions: take them out of the job module, or pause them (tock pause NAME)',
  );
  return 0;
}
