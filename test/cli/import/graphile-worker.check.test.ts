// `tock import graphile-worker`: its crontab and its tables, as graphile-worker itself reads and fills them.
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCronItems } from '../../../src/import/graphile-worker/cron-item.js';
import { translateCronItem } from '../../../src/import/graphile-worker/translate.js';
import { createTestDatabase, runAt } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { type GraphileWorker, hasNoScheduler, loadGraphileWorker } from '../../support/other-schedulers.js';
import { openTestTock } from '../../support/test-tock.js';
import { until } from '../../support/until.js';
import { aroundSwitch } from './first-occurrence.js';
import { type ImportKit, openImportKit, textOf } from './import-kit.js';

const CRONTAB = `# digests
0 6 * * 1-5 send_digest ?fill=2d&max=5&queue=mail {to: 'all'}
*/15 * * * * users/sync ?id=sync&jobKey=sync&priority=3

30 4 */10 * 1 clean
`;

const isMissing = hasNoScheduler();

let theirs: GraphileWorker;
const database = openOnce(createTestDatabase);
let kit: ImportKit;
beforeAll(async () => {
  theirs = await loadGraphileWorker();
  await theirs.runMigrations({ connectionString: database.url });
  kit = await openImportKit({ DATABASE_URL: database.url });
});
afterAll(async () => {
  await kit.close();
});

describe.skipIf(isMissing)('readCronItems', () => {
  it('reads what graphile-worker reads, line by line', () => {
    const parsed = theirs.parseCrontab(CRONTAB);
    const { items, bad } = readCronItems(CRONTAB);
    expect(bad).toEqual([]);
    expect(items.map(({ task, identifier, payload }) => ({ task, identifier, payload }))).toEqual(
      parsed.map(({ task, identifier, payload }) => ({ task, identifier, payload })),
    );
    for (const [index, { times, options }] of items.entries()) {
      const other = parsed[index];
      expect(other?.options.backfillPeriod).toBe(options.fillMs);
      expect(other?.options.maxAttempts ?? null).toBe(options.maxAttempts);
      // A year of days, by its own matcher.
      for (let day = 0; day < 366; day++) {
        const at = new Date(Date.UTC(2028, 0, 1 + day));
        const [date, dow, month] = [at.getUTCDate(), at.getUTCDay(), at.getUTCMonth() + 1];
        const isOurs =
          times.dayOfMonth.isStarred || times.weekday.isStarred
            ? times.dayOfMonth.values.has(date) && times.weekday.values.has(dow)
            : times.dayOfMonth.values.has(date) || times.weekday.values.has(dow);
        const [hour = 0] = times.hour.values;
        const [min = 0] = times.minute.values;
        expect(other?.match({ min, hour, date, month, dow }), `${index} ${at.toISOString()}`).toBe(isOurs);
      }
    }
  });
});

describe.skipIf(isMissing)('tock import graphile-worker', () => {
  it('prints definitions with the policies of each line', async () => {
    const file = await kit.write('crontab', CRONTAB);
    const { code, stdout, stderr } = await kit.tock(['import', 'graphile-worker', file]);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain(`export const sendDigest = defineJob({
  name: 'send_digest',
  schedule: { cron: '0 6 * * 1-5', timezone: 'UTC', overlap: 'allow_all', catchup: 'all', catchupWindow: '2d', payload: { to: 'all' } },
  queue: 'mail',
  retry: retry(5),
  run: runSendDigest,
});`);
    expect(stdout).toContain("schedule: { cron: '30 4 1,11,21,31 * 1', timezone: 'UTC'");
    expect(stderr).toContain('line 2: taken, with a difference: send_digest\n');
    expect(stderr).toContain('tock queue set mail --concurrency 1');
    expect(stderr).toContain('3 taken, 2 of them with a difference; 0 not taken');
    await kit.build(stdout);
    expect((await kit.jobs()).map(({ name, queue, priority }) => [name, queue, priority])).toEqual([
      ['send_digest', 'mail', undefined],
      ['sync', undefined, 3],
      ['clean', undefined, undefined],
    ]);
  });

  it('calls the tasks as they are, with helpers', async () => {
    const file = await kit.write('crontab', '0 6 * * * send_digest {to: "all"}\n0 7 * * * old/wrong\n');
    await kit.write(
      'tasks/send_digest.js',
      `export default async (payload, helpers) => {
        helpers.logger.info('sending', { to: payload.to });
        const { rows } = await helpers.query('select $1::int + 1 as sum', [payload.sum ?? 1]);
        await helpers.withPgClient(client => client.query('create table sent as select $1::text as "to"', [payload.to]));
        if (helpers.abortSignal.aborted || helpers.job.attempts !== 1 || rows[0].sum !== 2) throw new Error('wrong');
      };`,
    );
    await kit.write(
      'tasks/old/wrong.cjs',
      'module.exports = { default: (_, helpers) => helpers.addJob("x") };',
    );
    const args = ['import', 'graphile-worker', file, '--tasks', path.join(kit.folder, 'tasks')];
    const out = path.join(kit.folder, 'graphile.ts');
    const { code, stderr } = await kit.tock([...args, '--out', out]);
    expect(code, stderr).toBe(0);
    const written = await textOf(out);
    expect(written).toContain("import sendDigestTask from './tasks/send_digest.js';");
    await kit.write('package.json', '{"type": "module"}');
    await kit.build(written);
    const test = await openTestTock(await kit.jobs());
    try {
      await test.tock.register();
      const good = await test.tock.enqueue('send_digest', { to: 'me' });
      const bad = await test.tock.enqueue('old:wrong', {});
      await test.tock.tick();
      expect(await test.tock.runs.get(good)).toMatchObject({ status: 'succeeded' });
      expect(await test.sql('select * from sent')).toEqual([{ to: 'me' }]);
      const dead = await test.tock.runs.get(bad);
      expect(dead).toMatchObject({ status: 'dead' });
      expect(JSON.stringify(dead?.errors)).toContain('helpers.addJob is not there under Tock');
    } finally {
      await test.close();
    }
  });

  it('names what the database knows and the crontab does not hold', async () => {
    const file = await kit.write('crontab', '0 6 * * * send_digest\n');
    const runner = await theirs.run({
      connectionString: database.url,
      taskList: { other: () => undefined },
      crontab: '* * * * * other ?id=gone',
      noHandleSignals: true,
    });
    try {
      await until(async () => {
        const rows = await runAt(database.url, 'select 1 from graphile_worker._private_known_crontabs');
        return rows.length > 0;
      }, 'the item to be known');
    } finally {
      await runner.stop();
    }
    const { stderr } = await kit.tock(['import', 'graphile-worker', file, '--schema', 'graphile_worker']);
    expect(stderr).toContain('item gone: not taken\n      the database knows it, ');
    const { stdout } = await kit.tock(['import', 'graphile-worker', file, '--dry-run', '--days', '10']);
    expect(stdout).toContain('send_digest  the same 10 instants\n');
  });

  it('says in one line what is wrong', async () => {
    const empty = await kit.write('empty', '# nothing\n');
    const good = await kit.write('good', '0 6 * * * send\n');
    const cases: readonly (readonly [args: readonly string[], code: number, message: RegExp])[] = [
      [[], 2, /there is no \.\/crontab, which graphile-worker reads by default: name the crontab/],
      [['/no/such'], 1, /there is no file \/no\/such/],
      [[kit.folder], 2, /is a folder: name the crontab of graphile-worker/],
      [[empty], 1, /empty has no line with a task: there is nothing to import/],
      [[good, '--tasks', '/no/such'], 1, /there is no folder \/no\/such \(--tasks\)/],
      [[good, '--tasks', kit.folder], 1, /has no file send\.js or send\.ts for the task send/],
      [[good, '--schema', 'worker'], 1, /has no "worker" of graphile-worker \(0\.16 or later\)/],
      [['-', '--switch'], 2, /standard input cannot be changed: name the file/],
    ];
    for (const [args, code, message] of cases) {
      const result = await kit.tock(['import', 'graphile-worker', ...args]);
      expect(result.stderr, args.join(' ')).toMatch(message);
      expect(result.stderr.trimEnd().split('\n'), args.join(' ')).toHaveLength(1);
      expect(result.code, args.join(' ')).toBe(code);
    }
    const refused = await kit.write('refused', '0 6 * * * send ?retries=3\n0 6 * * * send\n');
    const { stderr } = await kit.tock(['import', 'graphile-worker', refused]);
    expect(stderr).toContain('line 1: not taken\n      it has no option retries, only id, fill, max');
  });
});

describe.skipIf(isMissing)('tock import graphile-worker --switch', () => {
  it('comments out what is in the job module, and puts it back byte for byte', async () => {
    const file = await kit.write('crontab', CRONTAB);
    await kit.build((await kit.tock(['import', 'graphile-worker', file])).stdout);
    const asked = await kit.tock(['import', 'graphile-worker', file, '--switch']);
    expect(asked.code).toBe(2);
    expect(asked.stderr).toContain('this would comment out 3 lines: repeat it with --yes');
    const done = await kit.tock(['import', 'graphile-worker', file, '--switch', '--yes']);
    expect(done.code, done.stderr).toBe(0);
    expect(done.stdout).toContain('now restart the workers');
    const switched = await textOf(file);
    expect(switched).toContain('#tock# 0 6 * * 1-5 send_digest');
    expect(theirs.parseCrontab(switched)).toEqual([]);
    const undone = await kit.tock(['import', 'undo', file, '--yes']);
    expect(undone.code, undone.stderr).toBe(0);
    expect(await textOf(file)).toBe(CRONTAB);
  });

  it('leaves no occurrence out and makes none twice', async () => {
    const line = '*/15 * * * * sync ?fill=1h\n';
    const file = await kit.write('crontab', line);
    await kit.build((await kit.tock(['import', 'graphile-worker', file])).stdout);
    const [item] = readCronItems(line).items;
    const found = item === undefined ? null : translateCronItem(item, new Map(), new Set());
    if (found === null || 'problem' in found || found.clock === null) throw new Error('not taken');
    const { before, after, all } = await aroundSwitch(await kit.jobs(), found.clock, [
      '2027-03-01T09:50:00Z',
      '2027-03-01T10:20:00Z',
      '2027-03-01T11:00:00Z',
    ]);
    expect(after[0]).toBe('2027-03-01T10:30:00.000Z');
    expect([...before, ...after]).toEqual(all);
  });
});
