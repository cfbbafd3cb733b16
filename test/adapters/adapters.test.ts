// Adapters: what they refuse, by type and at run time, and that the built package needs none of the libraries.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { PrismaPg } from '@prisma/adapter-pg';
import { drizzle } from 'drizzle-orm/node-postgres';
import { build } from 'esbuild';
import knex from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { fromDrizzle, fromKnex, fromKysely, fromPostgresJs, fromPrisma } from '../../src/adapters.js';
import { defineJob, type QueryClient, TockError } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { PrismaClient } from './prisma-client.js';

const ROOT = path.join(import.meta.dirname, '..', '..');
const echo = defineJob({ name: 'echo', run: () => null });
const test = openOnce(() => reuseTestTock([echo]));

// None of these connects before it is asked.
const pool = new pg.Pool();
const kysely = new Kysely<{ invoices: { id: number } }>({ dialect: new PostgresDialect({ pool }) });
const drizzleDb = drizzle(pool);
const prisma = new PrismaClient({ adapter: new PrismaPg({}) });
const knexDb = knex({ client: 'pg' });
afterAll(async () => {
  await knexDb.destroy();
  await prisma.$disconnect();
  await pool.end();
});

type Adapter = (given: never) => QueryClient;
const ADAPTERS: readonly [string, Adapter, string][] = [
  ['fromKysely', fromKysely, 'the trx of db.transaction().execute(async trx => …)'],
  ['fromDrizzle', fromDrizzle, 'the tx of db.transaction(async tx => …)'],
  ['fromPrisma', fromPrisma, 'the tx of prisma.$transaction(async tx => …)'],
  ['fromKnex', fromKnex, 'the trx of knex.transaction(async trx => …)'],
  ['fromPostgresJs', fromPostgresJs, 'the tx of sql.begin(async tx => …)'],
];

/** What each adapter takes. */
const OWN: Readonly<Record<string, unknown>> = {
  fromKysely: kysely,
  fromDrizzle: drizzleDb,
  fromPrisma: prisma,
  fromKnex: knexDb,
};

describe.each(ADAPTERS)('%s', (name, adapter, source) => {
  const others: readonly (readonly [string, unknown])[] = [
    ['undefined', undefined],
    ['null', null],
    ['a connection string', 'postgres://localhost/app'],
    ['an object', {}],
    ['a promise', Promise.resolve({})],
    ['a pool', pool],
    ['a pg client', new pg.Client()],
    ['a Kysely transaction that has not begun', kysely.transaction()],
    ['a query of Kysely', kysely.selectFrom('invoices').select('id')],
    ['a query of Knex', knexDb('invoices').select('id')],
    ['a query of Drizzle', drizzleDb.select().from({} as never)],
    ['a Kysely instance', kysely],
    ['a Drizzle database', drizzleDb],
    ['a PrismaClient', prisma],
    ['a Knex instance', knexDb],
  ];

  it.each(others.filter(([, given]) => given !== OWN[name]))(
    'refuses %s, and names the mend',
    (_what, given) => {
      let thrown: unknown;
      try {
        adapter(given as never);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(TockError);
      expect(thrown).toMatchObject({ code: 'TOCK_BAD_OPTION', message: expect.stringContaining(source) });
      expect((thrown as Error).message).toContain(name);
    },
  );
});

it('an answer without rows is refused, as MySQL and SQLite give it', async () => {
  const raw = Object.assign(() => undefined, {
    raw: async () => ({ changes: 1 }),
    transaction: () => null,
  });
  await expect(test.tock.enqueue(echo, {}, { client: fromKnex(raw) })).rejects.toMatchObject({
    code: 'TOCK_BAD_OPTION',
    message: expect.stringContaining('PostgreSQL'),
  });
});

it.each([
  ['a Kysely instance', kysely],
  ['a Drizzle database', drizzleDb],
  ['a Knex instance', knexDb],
  ['a PrismaClient', prisma],
  ['null', null],
  ['text', 'client'],
])('tock.enqueue refuses %s as a client, and names the adapters', async (_what, client) => {
  await expect(test.tock.enqueue(echo, {}, { client: client as never })).rejects.toMatchObject({
    code: 'TOCK_BAD_OPTION',
    message: expect.stringContaining('pg-tock/adapters'),
  });
  expect(await test.tock.runs.list()).toEqual([]);
});

describe('the types', () => {
  /** What is only compiled, never executed. */
  const compiled = (_body: () => void) => undefined;

  it('refuse another library’s transaction', () => {
    compiled(() => {
      // @ts-expect-error Drizzle is not Kysely
      fromKysely(drizzleDb);
      // @ts-expect-error Kysely is not Drizzle
      fromDrizzle(kysely);
      // @ts-expect-error Knex is not Prisma
      fromPrisma(knexDb);
      // @ts-expect-error Prisma is not Knex
      fromKnex(prisma);
      // @ts-expect-error a transaction that has not begun
      fromKysely(kysely.transaction());
      // @ts-expect-error a transaction must be wrapped
      void test.tock.enqueue(echo, {}, { client: kysely });
    });
    expect(compiled).toBeTypeOf('function');
  });
});

describe('pg-tock/adapters, as built', () => {
  it('is there by its public name, and throws the TockError of pg-tock', { tags: 'check' }, async () => {
    const script = `
      import * as adapters from 'pg-tock/adapters';
      import { TockError } from 'pg-tock';
      try {
        adapters.fromKysely({});
      } catch (error) {
        console.log(JSON.stringify({ names: Object.keys(adapters).sort(), isOurs: error instanceof TockError }));
      }`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      cwd: ROOT,
    });
    expect(JSON.parse(stdout)).toEqual({
      names: ['fromDrizzle', 'fromKnex', 'fromKysely', 'fromNeon', 'fromPostgresJs', 'fromPrisma'],
      isOurs: true,
    });
  });

  it('loads none of the libraries, nor the scheduler', async () => {
    const { metafile } = await build({
      entryPoints: [path.join(ROOT, 'src', 'adapters.ts')],
      bundle: true,
      platform: 'node',
      format: 'esm',
      write: false,
      metafile: true,
    });
    const inputs = Object.entries(Object.values(metafile.outputs)[0]?.inputs ?? {});
    const loaded = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file);
    expect(loaded.sort()).toEqual([
      'src/adapters.ts',
      'src/adapters/question-marks.ts',
      'src/model/errors.ts',
    ]);
  });
});
