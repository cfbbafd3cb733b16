// What every adapter must hold, on the real library and the real PostgreSQL.
// In: an app that uses the library, and how its transactions become clients. Out: the tests.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTock, defineJob, type QueryClient } from '../../src/index.js';
import { openTestTock, type TestTock, until } from '../support/test-tock.js';

/** An app that keeps invoices in a table `public.invoices (id integer primary key, note text not null)`. */
export interface App {
  /** One transaction of the library: rolled back when `work` throws, else committed. */
  transact<T>(
    work: (client: QueryClient, insertInvoice: (id: number, note: string) => Promise<void>) => Promise<T>,
  ): Promise<T>;
  /** A client of the library's connection pool, outside a transaction. */
  readonly outside: QueryClient;
  close(): Promise<void>;
}

/** Every kind of character that a placeholder, a quote or an escape may be made of. */
const AWKWARD = [
  '$1 $2 $$ $tag$ ${x} %s %1$s',
  '? ?? \\? \\\\? ?| ?& @?',
  `' '' " "" \` E'\\'' --x /* y */ ; `,
  ':name ::text @name #{x} {0}',
  '\\ \\n \\u0041 \\\\',
  'line\nbreak\ttab\r\u0001\u007f\u2028',
  'żółć 日本語 🦊 👩‍👩‍👧 e\u0301 \u202e',
  '{"json": [1, "two"]}',
  '{a,b} (c) NULL null',
  '',
];

const echo = defineJob({ name: 'echo', run: (_ctx, payload) => ({ payload: payload as never }) });

/** Runs the contract for one adapter. `open` is given the URL of a database in which the table is. */
export function describeAdapter(name: string, open: (url: string) => Promise<App>): void {
  describe(`${name}, by its contract`, () => {
    let test: TestTock;
    let app: App;
    beforeAll(async () => {
      test = await openTestTock([echo]);
      await test.sql('create table public.invoices (id integer primary key, note text not null)');
      app = await open(test.url);
    });
    afterAll(async () => {
      await app?.close();
      await test?.close();
    });
    const invoice = async (id: number) =>
      (await test.sql<{ note: string }>('select note from public.invoices where id = $1', [id]))[0]?.note;

    it('enqueues with the transaction: unseen before the commit, there and executed after it', async () => {
      const id = await app.transact(async (client, insertInvoice) => {
        await insertInvoice(1, 'committed');
        const made = await test.tock.enqueue(echo, { invoice: 1 }, { client, key: 'invoice:1' });
        expect(await test.tock.runs.get(made)).toBeNull();
        return made;
      });
      expect(id).toMatch(/^\d+$/);
      expect(await invoice(1)).toBe('committed');
      expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued', idempotencyKey: 'invoice:1' });
      await test.tock.tick();
      expect(await test.tock.runs.get(id)).toMatchObject({
        status: 'succeeded',
        output: { payload: { invoice: 1 } },
      });
    });

    it('leaves neither the app’s row nor the run after a rollback, and the key free', async () => {
      let id = '';
      const failed = app.transact(async (client, insertInvoice) => {
        await insertInvoice(2, 'rolled back');
        id = await test.tock.enqueue(echo, { invoice: 2 }, { client, key: 'invoice:2' });
        throw new Error('the app changed its mind');
      });
      await expect(failed).rejects.toThrow('the app changed its mind');
      expect(id).toMatch(/^\d+$/);
      expect(await invoice(2)).toBeUndefined();
      expect(await test.tock.runs.get(id)).toBeNull();
      const [again] = await test.tock.enqueueMany([{ job: echo, payload: {}, key: 'invoice:2' }], {
        details: true,
      });
      expect(again).toMatchObject({ isNew: true });
    });

    it('gives the run that has the key, from before and from the same transaction', async () => {
      const before = await test.tock.enqueue(echo, 'before', { key: 'used:before' });
      const answers = await app.transact(async client => [
        ...(await test.tock.enqueueMany(
          [
            { job: echo, key: 'used:before' },
            { job: echo, key: 'used:now' },
          ],
          { details: true, client },
        )),
        ...(await test.tock.enqueueMany([{ job: echo, key: 'used:now' }], { details: true, client })),
      ]);
      expect(answers.map(each => each.isNew)).toEqual([false, true, false]);
      expect(answers[0]?.id).toBe(before);
      expect(answers[2]?.id).toBe(answers[1]?.id);
    });

    it('gives the run of a key that another transaction commits while it waits', async () => {
      const awkward = `late:${AWKWARD.join(' ')}`;
      const { id, waiting } = await app.transact(async client => {
        const made = await test.tock.enqueue(echo, 'first', { client, key: awkward });
        const waiting = app.transact(
          async second =>
            await test.tock.enqueueMany([{ job: echo, key: awkward }], { details: true, client: second }),
        );
        // So that a failure is told where it is awaited.
        waiting.catch(() => undefined);
        await until(
          async () =>
            (
              await test.sql(`select from pg_stat_activity where datname = current_database()
              and wait_event_type = 'Lock' and query like '%enqueue_many%'`)
            ).length > 0,
          'the second transaction to wait for the key',
        );
        return { id: made, waiting };
      });
      expect(await waiting).toMatchObject([{ id, isNew: false }]);
    });

    it('leaves a successor to a run that has begun, with the transaction', async () => {
      const key = { key: 'state:1', unique: 'live', replace: true } as const;
      const id = await test.tock.enqueue(echo, 'old', key);
      await test.sql(
        `update tock.job_runs_live set status = 'running', attempts = 1, fence = 1, locked_by = gen_random_uuid(), locked_until = tock.now() - interval '1s' where id = $1`,
        [id],
      );
      const failed = app.transact(async client => {
        await test.tock.enqueue(echo, 'rolled back', { ...key, client });
        throw new Error('the app changed its mind');
      });
      await expect(failed).rejects.toThrow('the app changed its mind');
      const left = await app.transact(
        async client => await test.tock.enqueue(echo, 'new', { ...key, client, details: true }),
      );
      expect(left).toMatchObject({ isNew: true, isReplaced: false });
      await test.tock.tick();
      expect(await test.tock.runs.get(id)).toMatchObject({ skipReason: `replaced by run ${left.id}` });
      expect(await test.tock.runs.get(left.id)).toMatchObject({ output: { payload: 'new' } });
    });

    it('enqueues many in one transaction, in order, with every option', async () => {
      const ids = await app.transact(
        async client =>
          await test.tock.enqueueMany(
            [
              { job: echo, payload: 1, runAt: '2099-03-08T07:30:00Z', priority: 7, queue: 'slow' },
              { job: echo, payload: { no: null }, delay: '1h', maxAttempts: 2, trigger: 'manual' },
              { job: 'echo', payload: [true, 'three'], key: 'many:3' },
            ],
            { client },
          ),
      );
      expect(new Set(ids).size).toBe(3);
      const runs = await Promise.all(ids.map(id => test.tock.runs.get(id)));
      expect(runs).toMatchObject([
        { payload: 1, runAt: new Date('2099-03-08T07:30:00Z'), priority: 7, queue: 'slow' },
        { payload: { no: null }, maxAttempts: 2, trigger: 'manual', idempotencyKey: null },
        { payload: [true, 'three'], idempotencyKey: 'many:3' },
      ]);
    });

    it('brings every character to the handler as it was', async () => {
      const payload = Object.fromEntries(AWKWARD.map(text => [`key ${text}`, [text, AWKWARD.join('')]]));
      const key = AWKWARD.join('|');
      const id = await app.transact(async client => await test.tock.enqueue(echo, payload, { client, key }));
      await test.tock.tick();
      expect(await test.tock.runs.get(id)).toMatchObject({
        status: 'succeeded',
        idempotencyKey: key,
        output: { payload },
      });
      expect(await app.transact(async client => await test.tock.enqueue(echo, 0, { client, key }))).toBe(id);
    });

    it('enqueues in a schema of another name', async () => {
      const other = createTock({
        connectionString: test.url,
        schema: 'app_jobs',
        jobs: [echo],
        logger: false,
      });
      try {
        await other.migrate();
        const id = await app.transact(async client => await other.enqueue(echo, 'elsewhere', { client }));
        expect(await other.runs.get(id)).toMatchObject({ payload: 'elsewhere' });
      } finally {
        await other.close();
      }
    });

    it('makes a schedule with the transaction: unseen before the commit, there after it, gone with a rollback', async () => {
      const tenant = { name: 'tenant-1', job: echo, payload: { tenant: AWKWARD }, every: '1h' } as const;
      const failed = app.transact(async (client, insertInvoice) => {
        await insertInvoice(3, 'rolled back');
        expect(await test.tock.schedules.upsert(tenant, { client })).toMatchObject({ version: 1 });
        throw new Error('the app changed its mind');
      });
      await expect(failed).rejects.toThrow('the app changed its mind');
      expect(await test.tock.schedules.list({ name: 'tenant-1' })).toEqual([]);
      expect(await invoice(3)).toBeUndefined();

      const made = await app.transact(async (client, insertInvoice) => {
        await insertInvoice(4, 'committed');
        const inside = await test.tock.schedules.upsert(
          { ...tenant, startAt: '1900-01-01T00:00:00Z', endAt: '2099-01-01T00:00:00Z' },
          { client, ifVersion: 0 },
        );
        expect(await test.tock.schedules.list({ name: 'tenant-1' })).toEqual([]);
        return inside;
      });
      expect(made).toMatchObject({ payload: { tenant: AWKWARD }, startAt: new Date('1900-01-01T00:00:00Z') });
      expect(await test.tock.schedules.list({ name: 'tenant-1' })).toEqual([made]);
      expect(await invoice(4)).toBe('committed');
    });

    it('edits schedules with the transaction: what was due becomes runs, a chain is linked, a pause is kept', async () => {
      const due = { name: 'due', job: echo, payload: 'old', every: '1h', overlap: 'buffer_all' } as const;
      const spent = { name: 'spent', job: echo, every: '1h', remaining: 5 } as const;
      const resting = { name: 'resting', job: echo, every: '1h' } as const;
      await test.setClock('2026-03-01T12:30:00Z');
      await test.tock.schedules.upsertMany([due, spent, resting]);
      await test.tock.schedules.pause('resting');
      await test.setClock('2026-03-01T13:30:00Z');
      const written = await app.transact(
        async client =>
          await test.tock.schedules.upsertMany(
            [
              { ...due, payload: 'new', every: '2h' },
              { ...spent, priority: 3 },
              { ...resting, every: '3h' },
              { name: 'follows', job: echo, after: ['due', 'spent'] },
              { name: 'once', job: echo, at: '2026-03-02T00:00:00Z', expect: { within: '1h' } },
            ],
            { client },
          ),
      );
      const names = ['due', 'spent', 'resting', 'follows', 'once'];
      expect(written.map(({ name, version }) => [name, version])).toEqual(
        names.map((each, place) => [each, place < 3 ? 2 : 1]),
      );
      const listed = await test.tock.schedules.list();
      expect(written).toEqual(names.map(each => listed.find(record => record.name === each)));
      expect(written[2]).toMatchObject({ everyMs: 10_800_000, pausedAt: new Date('2026-03-01T12:30:00Z') });
      const runs = async (definition: string) =>
        (await test.tock.runs.list({ definition })).map(run => [run.scheduledFor, run.status, run.payload]);
      const at = new Date('2026-03-01T13:00:00Z');
      expect(await runs('due')).toEqual([[at, 'queued', 'old']]);
      expect(await runs('spent')).toEqual([[at, 'queued', {}]]);
      expect(await runs('resting')).toEqual([[at, 'skipped', {}]]);
      await test.tock.schedules.remove('once');
      const again = await app.transact(
        async client =>
          await test.tock.schedules.upsert(
            { name: 'once', job: echo, at: '2026-03-03T00:00:00Z' },
            { client },
          ),
      );
      expect(again).toMatchObject({
        id: written[4]?.id,
        at: '2026-03-03T00:00:00.000Z',
        vanishedAt: null,
      });
      await test.setClock(null);
    });

    it('leaves the transaction as it was where a schedule is refused, at whatever step', async () => {
      await test.tock.schedules.upsert({ name: 'kept', job: echo, every: '1h' });
      await app.transact(async (client, insertInvoice) => {
        await insertInvoice(5, 'committed');
        const { schedules } = test.tock;
        const upsert = schedules.upsert({ name: 'kept', job: echo, every: '2h' }, { client, ifVersion: 7 });
        await expect(upsert).rejects.toMatchObject({ code: 'TOCK_VERSION_CONFLICT' });
        // A circle is found once both are written.
        const circle = schedules.upsertMany(
          [
            { name: 'a', job: echo, after: ['b'] },
            { name: 'b', job: echo, after: ['a'] },
          ],
          { client },
        );
        await expect(circle).rejects.toMatchObject({ code: 'TOCK_BAD_SCHEDULE' });
      });
      expect(await invoice(5)).toBe('committed');
      expect((await test.tock.schedules.list({ name: 'kept' }))[0]).toMatchObject({ version: 1 });
      expect(await test.tock.schedules.list({ name: 'a' })).toEqual([]);
    });

    it('refuses to make a schedule outside a transaction', async () => {
      const made = test.tock.schedules.upsert(
        { name: 'outside', job: echo, every: '1h' },
        { client: app.outside },
      );
      await expect(made).rejects.toMatchObject({
        code: 'TOCK_BAD_OPTION',
        message: expect.stringContaining('no open transaction') as string,
      });
      expect(await test.tock.schedules.list({ name: 'outside' })).toEqual([]);
    });

    it('says what to run where the schema is not there', async () => {
      const other = createTock({
        connectionString: test.url,
        schema: 'not_migrated',
        jobs: [echo],
        logger: false,
      });
      const missing = {
        code: 'TOCK_NOT_MIGRATED',
        message: expect.stringMatching(
          /^the schema not_migrated lacks[^\n]*; run: tock migrate; or createTock\(\{ migrate: true \}\)$/,
        ) as string,
      };
      const failed = app.transact(async client => await other.enqueue(echo, { secret: 1 }, { client }));
      await expect(failed).rejects.toMatchObject(missing);
      // Knex puts the parameters into the message.
      await expect(failed).rejects.not.toThrow('secret');
      const refused = app.transact(
        async client => await other.schedules.upsert({ name: 'a', job: echo, every: '1h' }, { client }),
      );
      await expect(refused).rejects.toMatchObject(missing);
      await other.close();
    });

    it('enqueues at once outside a transaction', async () => {
      const id = await test.tock.enqueue(echo, 'alone', { client: app.outside });
      expect(await test.tock.runs.get(id)).toMatchObject({ payload: 'alone' });
    });
  });
}
