// Part of scripts/try-package.mjs: handlers over the kysely of the app, at both ends of the range of the peer dependency.
// The types by every compiler that is here, for ES modules and CommonJS; then a run of each.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** The lowest of the range, and the newest. Then comes what npm chose, with which the other trials go on. */
const ENDS = ['0.28.0', '0.29.9'];

/** The app's own functions take its own `Kysely<DB>` and `Transaction<DB>`; `DB` is an interface. */
const TYPES = `import type { Generated, Kysely, Transaction } from 'kysely';
import { createTock, defineJob, type Tock } from 'pg-tock';
import { fromKysely } from 'pg-tock/adapters';
import { openTestTock } from 'pg-tock/testing';

interface DB {
  invoices: { id: Generated<string>; cents: number };
}
const read = async (db: Kysely<DB>) => await db.selectFrom('invoices').select(['id', 'cents']).execute();
const write = async (trx: Transaction<DB>) => {
  await trx.insertInto('invoices').values({ cents: 1 }).execute();
};

export const ofContext = defineJob({
  name: 'of-context',
  async run(ctx) {
    const [first] = await read(ctx.db.withTables<DB>());
    // @ts-expect-error the job has named no table
    ctx.db.selectFrom('invoices');
    // @ts-expect-error the job has named other tables
    ctx.db.withTables<DB>().selectFrom('reminders');
    return first?.cents ?? 0;
  },
});

export const ofTransactions = defineJob({
  name: 'of-transactions',
  async run(ctx) {
    await ctx.once('write', trx => write(trx.withTables<DB>()));
    await ctx.transaction(async trx => {
      await write(trx.withTables<DB>());
      // @ts-expect-error the job has named other tables
      trx.withTables<DB>().insertInto('reminders');
    });
  },
});

export async function enqueueing(tock: Tock, db: Kysely<DB>) {
  await db.transaction().execute(async trx => {
    await tock.enqueue('of-context', {}, { client: fromKysely(trx) });
  });
}

export async function testing() {
  const kit = await openTestTock({ jobs: [ofContext] });
  return await read(kit.db.withTables<DB>());
}
export const tock = createTock({ connectionString: '', jobs: [ofContext, ofTransactions] });
`;

/** Says of what a handler was given whether it is of the app's classes, and enqueues in its transactions. */
const RUNS = `
interface DB {
  cents: { amount: number };
}

async function main() {
  const isOurs: boolean[] = [];
  const settle = defineJob({
    name: 'settle',
    retry: { maxAttempts: 1 },
    async run(ctx) {
      isOurs.push(ctx.db instanceof Kysely);
      const rows = await sql<{ amount: number }>\`insert into cents values (1) returning amount\`.execute(ctx.db);
      await ctx.once('once', async trx => {
        isOurs.push(trx instanceof Transaction);
        await trx.withTables<DB>().insertInto('cents').values({ amount: 2 }).execute();
        await ctx.enqueue<string>('note', null, { client: fromKysely(trx) });
      });
      return await ctx.transaction(async trx => {
        isOurs.push(trx instanceof Transaction);
        const all = await trx.withTables<DB>().selectFrom('cents').selectAll().execute();
        return { amounts: all.map(({ amount }) => amount), inserted: rows.rows.length };
      });
    },
  });
  const note = defineJob({ name: 'note', run: () => null });
  const tock = createTock({ connectionString: process.env['DATABASE_URL'] ?? '', jobs: [settle, note], logger: false });
  await tock.migrate();
  const id = await tock.enqueue('settle');
  await tock.tick();
  await tock.tick();
  const notes = await tock.runs.list({ job: 'note' });
  const run = await tock.runs.get(id);
  console.log(JSON.stringify([isOurs, run?.output ?? run?.errors, notes.map(({ status }) => status)]));
  await tock.close();
}
main();
`;
const IMPORTS = `import { Kysely, sql, Transaction } from 'kysely';
import { createTock, defineJob } from 'pg-tock';
import { fromKysely } from 'pg-tock/adapters';
`;
const EXPECTED = '[[true,true,true],{"amounts":[1,2],"inserted":1},["succeeded"]]\n';

export async function tryKysely({ folder, run, say, write, newDatabase, sqlOn, strict, compilers }) {
  const manifest = path.join(folder, 'package.json');
  const before = await readFile(manifest, 'utf8');
  const chosen = await versionOf(folder);
  for (const version of new Set([...ENDS, chosen])) {
    await use(version);
    await tryOne(version);
  }
  await writeFile(manifest, before);

  /** Fails where the version is out of the range of the peer dependency. */
  async function use(version) {
    run('npm', ['install', `kysely@${version}`, '--no-audit', '--no-fund', '--silent', '--no-package-lock']);
    if ((await versionOf(folder)) !== version) throw new Error(`kysely ${version} is not what is installed`);
  }

  async function tryOne(version) {
    for (const type of ['module', 'commonjs']) {
      const at = `kysely-${type}`;
      const cwd = path.join(folder, at);
      await write(`${at}/package.json`, JSON.stringify({ name: at, type }));
      await write(`${at}/types.ts`, TYPES);
      await write(`${at}/main.ts`, IMPORTS + RUNS);
      const emit = { noEmit: false, outDir: 'dist', rootDir: '.' };
      const compilerOptions = { ...strict, ...emit, module: 'nodenext', types: ['node'] };
      await write(`${at}/tsconfig.json`, JSON.stringify({ compilerOptions, files: ['types.ts', 'main.ts'] }));
      for (const tsc of compilers) run(tsc, ['-p', 'tsconfig.json'], { cwd });
      const DATABASE_URL = await newDatabase();
      await sqlOn(DATABASE_URL, 'create table cents (amount integer)');
      const { stdout, stderr } = run('node', ['dist/main.js'], { cwd, env: { DATABASE_URL } });
      if (stdout !== EXPECTED || stderr !== '')
        throw new Error(`kysely ${version}, ${type}: ${stdout}${stderr}`);
    }
    say(`handlers and the types of kysely ${version} fit`);
  }
}

async function versionOf(folder) {
  const file = path.join(folder, 'node_modules/kysely/package.json');
  return JSON.parse(await readFile(file, 'utf8')).version;
}
