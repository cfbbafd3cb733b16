// Engine: schedules that are made many at once, or in the caller's own transaction; and lists of them by page.
import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const mail = defineJob({ name: 'mail', payload: z.object({ tenant: z.number() }), run: () => null });
const plain = defineJob({ name: 'plain', run: () => null });

const test = openForEach(() => reuseTestTock([mail, plain]));
beforeEach(async () => {
  await test.setClock('2026-03-01T12:00:30Z');
  await test.tock.register();
});

const tenant = (number: number) =>
  ({ name: `tenant-${number}`, job: mail, payload: { tenant: number }, cron: '0 7 * * *' }) as const;
const runtime = async () =>
  (await test.tock.schedules.list({ after: '', limit: 2000 })).filter(({ origin }) => origin === 'runtime');

describe('upsertMany', () => {
  it('makes, edits and leaves alone in one transaction, and gives them in the order of the call', async () => {
    const [first] = await test.tock.schedules.upsertMany([tenant(2), tenant(1)]);
    expect(first).toMatchObject({ name: 'tenant-2', version: 1, payload: { tenant: 2 } });
    const written = await test.tock.schedules.upsertMany([
      { name: 'report', job: plain, after: ['tenant-3', 'tenant-1'] },
      tenant(3),
      { ...tenant(2), cron: '30 7 * * *' },
      tenant(1),
    ]);
    expect(written.map(({ name, version }) => [name, version])).toEqual([
      ['report', 1],
      ['tenant-3', 1],
      ['tenant-2', 2],
      ['tenant-1', 1],
    ]);
    expect(await test.tock.audit.list({ action: 'schedules.upsert' })).toMatchObject([
      { targets: ['report', 'tenant-3', 'tenant-2'], count: 3, details: { made: 2, edited: 1 } },
      { targets: ['tenant-2', 'tenant-1'], count: 2, details: { made: 2, edited: 0 } },
    ]);
    expect(await test.tock.schedules.upsertMany([])).toEqual([]);
  });

  it('writes none of them where one is refused', async () => {
    const { schedules } = test.tock;
    const refused: [() => Promise<unknown>, string][] = [
      [() => schedules.upsertMany([tenant(1), { ...tenant(2), cron: 'x' }]), 'TOCK_BAD_SCHEDULE'],
      [
        () => schedules.upsertMany([tenant(1), { ...tenant(2), payload: { tenant: 'x' as never } }]),
        'TOCK_BAD_PAYLOAD',
      ],
      [() => schedules.upsertMany([tenant(1), tenant(1)]), 'TOCK_BAD_OPTION'],
      [
        () => schedules.upsertMany([tenant(1), { name: 'a', job: plain, after: ['no-such'] }]),
        'TOCK_NOT_FOUND',
      ],
      [
        () => schedules.upsertMany([tenant(1), { name: 'a', job: plain, at: '2026-03-01T12:00:00Z' }]),
        'TOCK_BAD_SCHEDULE',
      ],
      [() => schedules.upsertMany([tenant(1), { name: 'a', job: plain, after: ['a'] }]), 'TOCK_BAD_SCHEDULE'],
    ];
    for (const [call, code] of refused) await expect(call()).rejects.toMatchObject({ code });
    expect(await runtime()).toEqual([]);
  });

  it('makes one schedule of each name where many processes make the same, in any order', {
    tags: 'check',
  }, async () => {
    const many = Array.from({ length: 40 }, (_, number) => tenant(number));
    const orders = [many, many.toReversed(), many.slice(10), many.toReversed().slice(10)];
    const made = await Promise.all(
      orders.map(schedules => test.another({ connections: 2 }).schedules.upsertMany(schedules)),
    );
    expect(new Set(made.flat().map(({ id }) => id)).size).toBe(40);
    expect(made.flat().every(({ version }) => version === 1)).toBe(true);
  });

  it('takes no more statements for a thousand new ones than for one', { tags: 'check' }, async () => {
    const statements = async (count: number, from: number) => {
      const pool = new pg.Pool({ connectionString: test.url, max: 2 });
      const client = await pool.connect();
      let sent = 0;
      const counted = {
        query: async (text: string, values: unknown[]) => {
          sent++;
          return await client.query(text, values);
        },
      };
      await client.query('begin');
      const all = Array.from({ length: count }, (_, number) => tenant(from + number));
      await test.tock.schedules.upsertMany(all, { client: counted });
      await client.query('commit');
      client.release();
      await pool.end();
      return sent;
    };
    expect(await statements(1000, 1000)).toBe(await statements(1, 1));
    expect(await runtime()).toHaveLength(1001);
  });
});

describe('a client', () => {
  it('commits or rolls back its schedules with the caller’s transaction, and goes on after a refusal', async () => {
    const client = new pg.Client({ connectionString: test.url });
    await client.connect();
    const { schedules } = test.tock;
    await client.query('begin');
    await schedules.upsertMany([tenant(1), tenant(2)], { client });
    await client.query('rollback');
    expect(await runtime()).toEqual([]);

    await client.query('begin');
    const made = await schedules.upsert(tenant(1), { client });
    // A circle is found once both are written.
    const circle = [
      { name: 'a', job: plain, after: ['b'] },
      { name: 'b', job: plain, after: ['a'] },
    ] as const;
    await expect(schedules.upsertMany(circle, { client })).rejects.toMatchObject({
      code: 'TOCK_BAD_SCHEDULE',
    });
    const late = schedules.upsert({ ...tenant(1), cron: '0 8 * * *' }, { client, ifVersion: 0 });
    await expect(late).rejects.toMatchObject({ code: 'TOCK_VERSION_CONFLICT' });
    expect(await runtime()).toEqual([]);
    await client.query('commit');
    expect(await runtime()).toEqual([made]);
    await client.end();
  });

  it('of a session with another time zone, date style and parsers gives the same record', async () => {
    const schedule = { ...tenant(1), startAt: '1900-01-01T00:00:00Z', endAt: '2100-01-01T00:00:00.250Z' };
    const client = new pg.Client({
      connectionString: test.url,
      types: { getTypeParser: () => (text: string | Buffer) => `unread ${text.toString()}` },
    });
    const read = (text: string) => text.replace(/^unread /, '');
    await client.connect();
    // Only texts can be read from this one, and the counts of what was written.
    const textual = {
      query: async (text: string, values: unknown[]) => {
        const { rows } = await client.query<Record<string, string>>(text, values);
        return {
          rows: rows.map(row => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, read(v)]))),
        };
      },
    };
    await client.query(`begin; set local timezone = 'Europe/Paris'; set local datestyle = 'German'`);
    const made = await test.tock.schedules.upsert(schedule, { client: textual });
    await client.query('commit');
    await client.end();
    expect(made).toMatchObject({ startAt: new Date('1900-01-01T00:00:00Z'), version: 1 });
    expect(await test.tock.schedules.list({ name: 'tenant-1' })).toEqual([made]);
  });
});

describe('list', () => {
  beforeEach(async () => {
    await test.tock.schedules.upsertMany([
      ...[3, 1, 2].map(tenant),
      { name: 'tenant_1', job: plain, every: '1h' },
      { name: 'other', job: plain, every: '1h' },
    ]);
  });
  const names = async (filter: Parameters<typeof test.tock.schedules.list>[0]) =>
    (await test.tock.schedules.list(filter)).map(({ name }) => name);

  it('gives those of a job, or with a prefix, as it is written', async () => {
    expect(await names({ job: 'mail' })).toEqual(['tenant-1', 'tenant-2', 'tenant-3', 'mail']);
    expect(await names({ prefix: 'tenant_' })).toEqual(['tenant_1']);
    expect(await names({ prefix: 'TENANT' })).toEqual([]);
    expect(await names({ prefix: 'tenant', job: 'plain' })).toEqual(['tenant_1']);
    expect(await names({ prefix: '%' })).toEqual([]);
  });

  it('goes by name from page to page, whatever is due next', async () => {
    const pages: string[][] = [];
    for (let after = ''; ; ) {
      const page = await names({ after, limit: 2 });
      if (page.length === 0) break;
      pages.push(page);
      after = page.at(-1) ?? '';
      // What is made or moved meanwhile moves no other to another page.
      if (pages.length === 1) await test.tock.schedules.upsert({ name: 'aa', job: plain, every: '1m' });
    }
    expect(pages.slice(0, -1).every(page => page.length === 2)).toBe(true);
    const all = (await names({})).filter(name => name !== 'aa');
    expect(pages.flat().toSorted()).toEqual(all.toSorted());
    expect(new Set(pages.flat()).size).toBe(pages.flat().length);
  });
});
