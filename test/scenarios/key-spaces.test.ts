// Engine: the keys that callers choose and the identities that Tock gives are apart: whatever the key of an enqueued run
// is, occurrences and what follows from a dead run are made.
import { beforeEach, describe, expect, it } from 'vitest';
import { Dead, defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const hourly = defineJob({
  name: 'hourly',
  schedule: { cron: '0 * * * *', overlap: 'allow_all' },
  run: ctx => ctx.idempotencyKey,
});
const echo = defineJob({ name: 'echo', run: ctx => ctx.idempotencyKey });
const care = defineJob({ name: 'care', run: ctx => ctx.idempotencyKey });
const hopeless = defineJob({
  name: 'hopeless',
  onDead: care,
  run: () => {
    throw new Dead('no');
  },
});

const test = openForEach(() => reuseTestTock([hourly, echo, care, hopeless]));
/** The key that the next occurrence of `hourly` will show. */
let key: string;
beforeEach(async () => {
  await test.setClock('2026-03-01T11:59:30Z');
  await test.tock.register();
  const [definition] = await test.tock.schedules.list({ name: 'hourly' });
  key = `cron:${definition?.id}:2026-03-01T12:00:00Z`;
});

const runsOf = async (job: string) =>
  (await test.tock.runs.list({ job })).map(({ status, idempotencyKey, output }) => ({
    status,
    idempotencyKey,
    output,
  }));
const done = (of: string) => ({ status: 'succeeded', idempotencyKey: of, output: of });

describe('an occurrence', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['in code', () => test.tock.enqueue(echo, {}, { key })],
    ['in SQL', () => test.sql(`select tock.enqueue('echo', idempotency_key => $1)`, [key])],
    [
      'with many others',
      () => test.tock.enqueueMany([{ job: echo, key }, { job: echo }, { job: echo, key: 'b' }]),
    ],
    ['while its run is live', () => test.tock.enqueue(echo, {}, { key, unique: 'live' })],
    ['of its own job', () => test.tock.enqueue('hourly', {}, { key })],
  ])('is materialized though a caller has used its key %s', async (_how, enqueue) => {
    await enqueue();
    await test.advance('1m');
    expect(await test.tock.tick()).toMatchObject({ materialized: { runs: 1, skips: 0 } });
    expect(await test.tock.runs.list({ definition: 'hourly' })).toMatchObject([
      { status: 'succeeded', idempotencyKey: key, output: key, trigger: 'cron' },
    ]);
    // And once: neither by a cursor that was set back, nor by a backfill.
    await test.sql(
      `update tock.job_definitions set cursor = cursor - interval '1 h', next_at = '-infinity' where name = 'hourly'`,
    );
    expect(await test.tock.tick()).toMatchObject({ materialized: { runs: 0 } });
    const window = { from: '2026-03-01T12:00:00Z', to: '2026-03-01T12:00:01Z' };
    expect(await test.tock.schedules.backfill('hourly', window)).toMatchObject({ existing: 1, made: 0 });
  });

  it('is backfilled, and is no occurrence that was pruned, where only a caller has used its key', {
    tags: 'check',
  }, async () => {
    const before = key.replace('12:00:00Z', '10:00:00Z');
    await test.tock.enqueue(echo, {}, { key: before });
    expect(await test.tock.why('hourly', '2026-03-01T10:00:00Z')).toMatchObject({
      verdict: 'before-definition',
    });
    const window = { from: '2026-03-01T10:00:00Z', to: '2026-03-01T11:00:00Z' };
    expect(await test.tock.schedules.backfill('hourly', { ...window, dryRun: true })).toMatchObject({
      existing: 0,
    });
    expect(await test.tock.schedules.backfill('hourly', window)).toMatchObject({ existing: 0, made: 1 });
    await test.tock.tick();
    expect(await test.tock.runs.list({ definition: 'hourly' })).toMatchObject([
      { ...done(before), trigger: 'backfill' },
    ]);
  });

  it('leaves its key to callers: its handler may pass it on', { tags: 'check' }, async () => {
    await test.advance('1m');
    await test.tock.tick();
    const id = await test.tock.enqueue(echo, {}, { key });
    expect(await test.tock.enqueue(echo, {}, { key })).toBe(id);
    await test.tock.tick();
    expect(await runsOf('echo')).toEqual([done(key)]);
  });
});

describe('what onDead asks for', () => {
  it('is made though a caller has used its key', { tags: 'check' }, async () => {
    const id = await test.tock.enqueue(hopeless);
    await test.tock.enqueue(echo, {}, { key: `dead:${id}:1` });
    await test.tock.tick();
    expect(await runsOf('care')).toEqual([done(`dead:${id}:1`)]);
    expect(await runsOf('echo')).toEqual([done(`dead:${id}:1`)]);
  });

  it('is made for each end of a run, also where both wait in the outbox', { tags: 'check' }, async () => {
    const id = await test.tock.enqueue(hopeless);
    await test.tock.tick();
    await test.tock.runs.retry(id, { attempts: 1 });
    await test.tock.tick();
    await test.sql(`delete from tock.job_runs_finished where job = 'care'`);
    await test.sql(
      `insert into tock.job_outbox (kind, run_id, generation) values ('dead', $1, 1), ('dead', $1, 2)`,
      [id],
    );
    await test.tock.tick();
    expect(
      (await runsOf('care')).map(run => String(run.idempotencyKey)).sort((a, b) => a.localeCompare(b)),
    ).toEqual([`dead:${id}:1`, `dead:${id}:2`]);
  });
});
