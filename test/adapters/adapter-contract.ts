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

    it('enqueues at once outside a transaction', async () => {
      const id = await test.tock.enqueue(echo, 'alone', { client: app.outside });
      expect(await test.tock.runs.get(id)).toMatchObject({ payload: 'alone' });
    });
  });
}
