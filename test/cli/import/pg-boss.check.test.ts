// `tock import pg-boss`: schedules that pg-boss itself has made, the switch, and the way back.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BossSchedule, translateBossSchedule } from '../../../src/import/pg-boss/boss-schedule.js';
import { createTestDatabase, runAt } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { hasNoScheduler, loadPgBoss, type PgBoss } from '../../support/other-schedulers.js';
import { openTestTock } from '../../support/test-tock.js';
import { aroundSwitch } from './first-occurrence.js';
import { copyIn, type ImportKit, openImportKit, textOf } from './import-kit.js';

const isMissing = hasNoScheduler();

const database = openOnce(createTestDatabase);
let boss: PgBoss;
let kit: ImportKit;
beforeAll(async () => {
  const { PgBoss } = await loadPgBoss();
  boss = new PgBoss({ connectionString: database.url, schedule: false, supervise: false });
  await boss.start();
  await boss.createQueue('digest', {
    retryLimit: 4,
    retryDelay: 30,
    retryBackoff: true,
    expireInSeconds: 600,
  });
  await boss.createQueue('sync', { policy: 'exclusive' });
  kit = await openImportKit({ DATABASE_URL: database.url });
});
afterAll(async () => {
  await boss.stop({ graceful: false });
  await kit.close();
});

const schedules = async (): Promise<readonly unknown[]> => {
  await boss.schedule(
    'digest',
    '30 7 * * *',
    { to: 'all' },
    { tz: 'Europe/Berlin', missed: 'once', priority: 2 },
  );
  await boss.schedule('sync', '*/15 * * * *', null, { key: 'eu' });
  await boss.schedule('sync', '*/20 * * * *', null, { key: 'us' });
  await boss.schedule('sync', 'FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0', null, { key: 'rule' });
  return await rows();
};
const rows = async (): Promise<readonly unknown[]> =>
  await runAt(
    database.url,
    'select name, key, cron, timezone, data, options from pgboss.schedule order by 1, 2',
  );
const imported = async (): Promise<string> => {
  const { stdout } = await kit.tock(['import', 'pg-boss', '--json']);
  return (JSON.parse(stdout) as { code: string }).code;
};

describe.skipIf(isMissing)('tock import pg-boss', () => {
  it('prints definitions with the policies of schedule and queue', async () => {
    await schedules();
    const { code, stdout, stderr } = await kit.tock(['import', 'pg-boss']);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain(`export const digest = defineJob({
  name: 'digest',
  schedule: { cron: '30 7 * * *', timezone: 'Europe/Berlin', dst: 'literal', overlap: 'allow_all', payload: { to: 'all' } },
  timeout: '10m',
  priority: -2,
  retry: { maxAttempts: 5, base: '30s' },
  run: runDigest,
});`);
    expect(stdout).toContain("name: 'sync:eu'");
    expect(stdout).toContain("overlap: 'skip', catchup: 'none' }");
    expect(stdout.match(/async function/g)).toHaveLength(2);
    expect(stderr).toContain('schedule sync (key rule): not taken\n      it is a recurrence rule (RRULE)');
    expect(stderr).toContain('3 taken, 0 of them with a difference; 1 not taken');
  });

  it('makes runs that are dead until their code is moved, and say where it belongs', async () => {
    await schedules();
    await kit.build(await imported());
    const jobs = await kit.jobs();
    const test = await openTestTock(jobs);
    try {
      await test.tock.register();
      const id = await test.tock.enqueue('digest', {});
      await test.tock.tick();
      const run = await test.tock.runs.get(id);
      expect(run).toMatchObject({ status: 'dead', attempts: 1 });
      expect(JSON.stringify(run?.errors)).toContain("move what boss.work('digest', …) does into runDigest");
    } finally {
      await test.close();
    }
  });

  it('says in one line what is wrong', async () => {
    const cases: readonly (readonly [args: readonly string[], code: number, message: RegExp])[] = [
      [
        ['--schema', 'boss'],
        1,
        /the database \S+ has no schema "boss": name the one of pg-boss with --schema/,
      ],
      [
        ['--schema', 'public'],
        1,
        /the schema "public" in the database \S+ has no table schedule: it is not that of pg-boss/,
      ],
      [['--database', 'mysql://x/y'], 2, /begins with mysql:/],
      [['--database', 'postgres://postgres@127.0.0.1:1/x'], 3, /cannot reach the database/],
      [['--switch', '--dry-run'], 2, /not both/],
      [['--switch'], 1, /no definition of these schedules is in .*, so nothing would run them/],
    ];
    await schedules();
    await kit.write('jobs.mjs', 'export const jobs = [];\n');
    for (const [args, code, message] of cases) {
      const result = await kit.tock(['import', 'pg-boss', ...args]);
      expect(result.stderr, args.join(' ')).toMatch(message);
      expect(result.stderr.trimEnd().split('\n'), args.join(' ')).toHaveLength(1);
      expect(result.code, args.join(' ')).toBe(code);
    }
    const none = await kit.tock(['import', 'pg-boss'], { env: { DATABASE_URL: '' } });
    expect(none.stderr).toContain('no database is named: give --database');
    expect(none.code).toBe(2);
  });
});

describe.skipIf(isMissing)('tock import pg-boss --switch', () => {
  it('removes what is in the job module, keeps it in a file, and puts it back as it was', async () => {
    const before = await schedules();
    await kit.build(await imported());
    const asked = await kit.tock(['import', 'pg-boss', '--switch']);
    expect(asked.code).toBe(2);
    expect(asked.stderr).toContain('this would remove 3 schedules of pg-boss: repeat it with --yes');
    expect(await rows()).toEqual(before);

    const done = await kit.tock(['import', 'pg-boss', '--switch', '--yes']);
    expect(done.code, done.stderr).toBe(0);
    expect(done.stdout).toContain('- schedule digest: digest\n');
    expect(done.stdout).toContain('removed from pg-boss: 3; Tock runs them from its next tick on\n');
    expect(await rows()).toEqual([expect.objectContaining({ name: 'sync', key: 'rule' })]);

    const copy = copyIn(done.stdout);
    expect(JSON.parse(await textOf(copy))).toMatchObject({ schema: 'pgboss' });
    const undone = await kit.tock(['import', 'undo', copy, '--yes']);
    expect(undone.code, undone.stderr).toBe(0);
    expect(undone.stdout).toContain('pg-boss runs 3 again\n');
    expect(await rows()).toEqual(before);
    const again = await kit.tock(['import', 'undo', copy, '--yes']);
    expect(again.stdout).toContain('pg-boss runs 0 again; 3 left');
  });

  it('refuses a file of another database, and a database without such a file', async () => {
    await schedules();
    await kit.build(await imported());
    const copy = copyIn((await kit.tock(['import', 'pg-boss', '--switch', '--yes'])).stdout);
    const other = await createTestDatabase();
    try {
      const wrong = await kit.tock(['import', 'undo', copy, '--yes', '--database', other.url]);
      expect(wrong.stderr).toMatch(/this file is of the database \S+, and the connection leads to/);
      expect(wrong.code).toBe(2);
    } finally {
      await other.drop();
    }
    const crontab = await kit.write('some-crontab', '0 1 * * * x\n');
    const mixed = await kit.tock(['import', 'undo', crontab, '--database', database.url]);
    expect(mixed.stderr).toContain('--database belongs to a file that --switch has kept');
    await kit.tock(['import', 'undo', copy, '--yes']);
  });

  it('leaves no occurrence out and makes none twice', async () => {
    const schedule: BossSchedule = {
      name: 'sync',
      key: 'eu',
      cron: '*/15 * * * *',
      timezone: 'UTC',
      data: null,
      options: {},
      queue: {},
    };
    const found = translateBossSchedule(schedule, new Map(), new Set());
    if ('problem' in found || found.clock === null) throw new Error('not taken');
    await schedules();
    await kit.build(await imported());
    const jobs = (await kit.jobs()).filter(({ name }) => name === 'sync:eu');
    const switched = '2027-03-01T10:20:00Z';
    const { before, after, all } = await aroundSwitch(jobs, found.clock, [
      '2027-03-01T09:50:00Z',
      switched,
      '2027-03-01T11:00:00Z',
    ]);
    expect(after[0]).toBe('2027-03-01T10:30:00.000Z');
    expect([...before, ...after]).toEqual(all);
    expect(new Set([...before, ...after]).size).toBe(all.length);
  });
});
