// What JavaScript may pass in place of a name, a list or options: each door answers with an error that says what to write.
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { createTock, declareJob, defineJob, TockError } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });
const DATABASE = { connectionString: 'postgres:///never-connected' };
/** Endless, or the test's own. */
const SKIPPED = ['jobs', 'start', 'tick', 'changes', 'close', 'idleTick', 'beginExec', 'atWork', 'crash'];

type Call = readonly [path: string, method: (...input: readonly unknown[]) => unknown];

/** The methods of a Tock, also those of `runs`, `schedules` and so on. */
function methodsOf(object: object, path = ''): Call[] {
  return Object.entries(object).flatMap(([name, value]: [string, unknown]): Call[] => {
    if (SKIPPED.includes(name)) return [];
    if (typeof value === 'function') return [[`${path}${name}`, value as Call[1]]];
    return typeof value === 'object' && value !== null ? methodsOf(value, `${path}${name}.`) : [];
  });
}

const answerOf = async (call: () => unknown): Promise<string | null> => {
  try {
    await call();
    return null;
  } catch (error) {
    return error instanceof TockError ? `${error.code}: ${error.message}` : `NOT TYPED: ${String(error)}`;
  }
};

describe('the methods of a Tock', () => {
  const test = openOnce(() => reuseTestTock([plain]));

  it('answer nothing, null, a number, a list and options of another kind with an error that has a code', {
    tags: 'check',
  }, async () => {
    const wrong: readonly (readonly unknown[])[] = [
      [],
      [null],
      [5],
      [[]],
      [[null]],
      [{}, 5],
      ['plain', null],
      ['plain', 5],
      ['plain', { note: 5 }],
      [{ names: 5 }],
    ];
    const untyped: string[] = [];
    const methods = methodsOf(test.tock);
    expect(methods.map(([path]) => path)).toEqual(
      expect.arrayContaining(['enqueue', 'schedules.resume', 'alerts.mute']),
    );
    for (const [path, method] of methods)
      for (const input of wrong) {
        const answer = await answerOf(() => method(...input));
        if (answer?.startsWith('NOT TYPED')) untyped.push(`${path}(${JSON.stringify(input)}) ${answer}`);
      }
    expect(untyped).toEqual([]);
  });

  it('take nothing where the first argument may be left out', async () => {
    expect(await test.tock.alerts.test()).toEqual([]);
  });

  it('name what is missing, and what to write', async () => {
    const { tock } = test as unknown as { tock: Record<string, (...input: unknown[]) => unknown> };
    const answers = await Promise.all(
      [
        () => tock['enqueue']?.(),
        () => tock['enqueueMany']?.(5),
        () => tock['freeze']?.(),
        () => tock['enqueue']?.(declareJob({ name: 'plan' })),
        () => tock['enqueue']?.('plain', {}, { tx: {} }),
        () => test.tock.schedules.resume(undefined as never),
        () => test.tock.schedules.pause('x', { note: 5 } as never),
      ].map(answerOf),
    );
    expect(answers).toEqual([
      'TOCK_UNKNOWN_JOB: there is no job undefined; known jobs: plain',
      'TOCK_BAD_OPTION: enqueueMany is 5; write a list',
      'TOCK_BAD_OPTION: freeze is undefined; write an object of options',
      'TOCK_UNKNOWN_JOB: job plan is declared here (declareJob), but no service has registered it: start or deploy the service that executes it first, in this schema, or correct the name',
      'TOCK_BAD_OPTION: enqueue of job "plain" has no option "tx"; did you mean "client"?',
      'TOCK_BAD_OPTION: the name is undefined; write a text',
      'TOCK_BAD_OPTION: 5 cannot be a note or a reason: write a text',
    ]);
  });

  it('refuse a pool as the client, since it would commit outside of the transaction', async () => {
    const client = new pg.Pool({ connectionString: test.url });
    const [tock, refused] = [
      test.tock,
      /^TOCK_BAD_OPTION: client is a pool, .*: pass what pool\.connect\(\) gives/,
    ];
    const id = await tock.enqueue('plain');
    const before = await tock.runs.list();
    try {
      for (const call of [
        () => tock.enqueue('plain', {}, { client }),
        () => tock.enqueueMany([{ job: 'plain' }], { client }),
        () => tock.enqueueGroup([{ job: 'plain' }], { then: { job: 'plain' }, client }),
        () => tock.enqueueFlow({ a: { job: 'plain' } }, { client }),
        () => tock.emit('paid', { client }),
        () => tock.complete(id, 1, null, { client }),
        () => tock.fail(id, 1, new Error('x'), { client }),
        () => tock.schedules.upsert({ name: 'x', job: 'plain', cron: '@daily' }, { client }),
        () => tock.schedules.upsertMany([{ name: 'x', job: 'plain', cron: '@daily' }], { client }),
      ])
        expect(await answerOf(call)).toMatch(refused);
      expect(await tock.runs.list()).toEqual(before);
    } finally {
      await client.end();
    }
  });

  it('take a client that has no transaction: what is enqueued commits at once', async () => {
    const client = new pg.Client({ connectionString: test.url });
    await client.connect();
    try {
      expect(await test.tock.runs.get(await test.tock.enqueue('plain', {}, { client }))).not.toBeNull();
    } finally {
      await client.end();
    }
  });
});

it.each([
  ['a client', { pool: new pg.Client() }, 'pool is no pool of pg: pass new pg.Pool(), not a client'],
  ['a number', { pool: 5 }, 'pool is no pool of pg'],
  ['a number', { connectionString: 5 }, 'connectionString is 5: write postgres://'],
  ['a name', { connectionString: 'mydb' }, 'the database URL cannot be read; write it as postgres://'],
  [
    'the words of libpq',
    { connectionString: 'host=db dbname=app' },
    'the database URL cannot be read; write it as postgres://',
  ],
  ['an object', { ...DATABASE, jobs: {} }, 'jobs is an object; write a list'],
  ['a text', { ...DATABASE, connections: 'x' }, 'connections "x" is not a whole number from 1 to 10000'],
  ['a number', { ...DATABASE, hooks: 5 }, 'hooks is 5; write an object of options'],
  ['a number', { ...DATABASE, logger: 5 }, 'logger is 5; write false, or a logger such as pino'],
])('createTock refuses %s where something else belongs: %#', async (_, options, message) => {
  expect(await answerOf(() => createTock(options as never))).toContain(`TOCK_BAD_OPTION: ${message}`);
});
