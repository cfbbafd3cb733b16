// clients/conformance.json: what workers that speak SQL may rely on, by pg and by the client in Python. TOCK_CLIENT tests
// another client: a command that reads and writes lines as clients/python/drive.py does.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openOnce } from '../support/open.js';
import { hasNoPsycopg, PYTHON } from '../support/python.js';
import { openTestTock } from '../support/test-tock.js';
import { makeSqlWorkerRole, type SqlWorkerRole } from './sql-worker-role.js';

const CLIENTS = path.join(import.meta.dirname, '../../clients');

interface Step {
  readonly do?:
    | 'enqueue'
    | 'tick'
    | 'show'
    | 'pass'
    | 'pause'
    | 'resume'
    | 'cancel'
    | 'relay'
    | 'foreign queue';
  readonly call?: keyof typeof CALLS;
  readonly args?: readonly unknown[];
  readonly gives?: unknown;
  readonly fails?: { readonly sqlstate: string; readonly message?: string; readonly hint?: string };
  readonly keep?: string;
  readonly job?: string;
  readonly payload?: unknown;
  readonly priority?: number;
  readonly run?: string;
  readonly time?: string;
  readonly to?: string | null;
}
const { cases } = JSON.parse(readFileSync(path.join(CLIENTS, 'conformance.json'), 'utf8')) as {
  cases: readonly { readonly name: string; readonly steps: readonly Step[] }[];
};

const CALLS = {
  claim: 'select * from tock.claim($1::text, $2::integer, $3::interval)',
  complete: 'select tock.complete($1::bigint, $2::integer, $3::jsonb) as held',
  fail: 'select tock.fail($1::bigint, $2::integer, $3::text, $4::boolean, $5::timestamptz, $6::jsonb) as held',
  extend: 'select tock.extend($1::bigint, $2::integer, $3::interval) as held',
  progress: 'select tock.progress($1::bigint, $2::integer, $3::float8, $4::text) as held',
} as const;

interface Said {
  readonly gives?: unknown;
  readonly fails?: {
    readonly sqlstate?: string | undefined;
    readonly message: string;
    readonly hint?: string | undefined;
  };
}
interface Client {
  call(name: keyof typeof CALLS, args: readonly unknown[]): Promise<Said>;
  close(): Promise<void>;
}

async function openPgClient(url: string): Promise<Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    async call(name, args) {
      // Null is no result and no details; what else is an object goes as JSON.
      const values = args.map(each =>
        typeof each === 'object' && each !== null ? JSON.stringify(each) : each,
      );
      try {
        const { rows } = await client.query<{ held: boolean }>(CALLS[name], values);
        return { gives: name === 'claim' ? rows : rows[0]?.held };
      } catch (error) {
        const { code, message, hint } = error as pg.DatabaseError;
        return { fails: { sqlstate: code, message, hint } };
      }
    },
    close: () => client.end(),
  };
}

function openDriver(command: string, args: readonly string[], url: string): Client {
  const child = spawn(command, args, {
    env: { ...process.env, DATABASE_URL: url },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise(resolve => child.once('exit', resolve));
  return {
    async call(name, values) {
      child.stdin.write(`${JSON.stringify({ call: name, args: values })}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${command} ended before it answered to ${name}`);
      return JSON.parse(value) as Said;
    },
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}

const test = openOnce(() => openTestTock([]));
let role: SqlWorkerRole;
beforeAll(async () => {
  role = await makeSqlWorkerRole(test);
});
afterAll(async () => {
  await role.drop();
});
let number = 0;

const other = process.env['TOCK_CLIENT']?.split(' ') ?? null;
describe.each<[string, boolean, (url: string) => Client | Promise<Client>]>([
  ['pg', false, openPgClient],
  [
    'clients/python/tock.py',
    hasNoPsycopg(),
    url => openDriver(PYTHON, [path.join(CLIENTS, 'python/drive.py')], url),
  ],
  ['TOCK_CLIENT', other === null, url => openDriver(other?.[0] ?? '', other?.slice(1) ?? [], url)],
])('%s', (_, isMissing, open) => {
  let client: Client;
  beforeAll(async () => {
    if (!isMissing) client = await open(role.url);
  });
  afterAll(async () => await client?.close());

  it.skipIf(isMissing).each(cases.map(each => [each.name, each] as const))('%s', async (_name, { steps }) => {
    await test.setClock('2026-03-02T12:00:00Z');
    const queue = `q${++number}`;
    await test.tock.queues.set(queue, { relay: 'sql' });
    await role.mayClaimFrom(queue);
    const kept: Record<string, unknown> = { queue };
    for (const step of steps) {
      const said =
        step.call === undefined
          ? { gives: await perform(step, queue, kept) }
          : await client.call(
              step.call,
              (step.args ?? []).map(each => valueOf(each, kept)),
            );
      const what = JSON.stringify(step);
      if (step.fails === undefined) expect(said, what).not.toHaveProperty('fails');
      else expect(said, what).toMatchObject({ fails: step.fails });
      const expected = valueOf(step.gives, kept);
      if (expected !== undefined)
        expect(plain({ gives: said.gives }), what).toMatchObject(plain({ gives: expected }) as object);
      if (step.keep !== undefined) kept[step.keep] = said.gives;
    }
  });
});

/** Ids are text by pg, and numbers in Python. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, each: unknown) => (key === 'run_id' ? String(each) : each));

/** `$claimed.0.run_id` is a member of what was kept as `claimed`. */
function valueOf(value: unknown, kept: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.map(each => valueOf(each, kept));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, valueOf(each, kept)]));
  if (typeof value !== 'string' || !value.startsWith('$')) return value;
  return value
    .slice(1)
    .split('.')
    .reduce<unknown>((from, key) => (from as Record<string, unknown>)[key], kept);
}

/** What the runner does. */
async function perform(step: Step, queue: string, kept: Readonly<Record<string, unknown>>): Promise<unknown> {
  const run = String(valueOf(step.run ?? '', kept));
  switch (step.do) {
    case 'enqueue': {
      const [row] = await test.sql<{ id: string }>(
        'select tock.enqueue($1, $2, queue => $3, priority => $4)::text as id',
        [step.job, JSON.stringify(step.payload), queue, step.priority ?? 0],
      );
      return row?.id;
    }
    case 'tick':
      return await test.tock.tick();
    case 'show':
      return await test.tock.runs.get(run);
    case 'pass':
      return await test.sql('update tock.test_clock set at = at + $1::interval', [step.time]);
    case 'pause':
      return await test.tock.queues.pause(queue);
    case 'resume':
      return await test.tock.queues.resume(queue);
    case 'cancel':
      return await test.tock.runs.cancel(run);
    case 'relay':
      return await test.tock.queues.set(queue, { relay: step.to ?? null });
    case 'foreign queue':
      await test.tock.queues.set(`${queue}-of-others`, { relay: 'sql' });
      return `${queue}-of-others`;
    default:
      throw new Error(`no step: ${JSON.stringify(step)}`);
  }
}
