// A run's log from end to end: what ctx.log keeps, for whom, and what it costs those that log nothing.
import { describe, expect, it } from 'vitest';
import { defineJob, type JobContext, type LogsOption, type Tock } from '../../src/index.js';
import { collectLines } from '../support/lines.js';
import { openForEach } from '../support/open.js';
import { openRecorder } from '../support/recorded-connection.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const test = openForEach(reuseTestTock);

const jobOf = (run: (ctx: JobContext) => unknown, logs?: LogsOption, more: object = {}) =>
  defineJob({ name: 'logs', ...more, ...(logs === undefined ? {} : { logs }), run });

/** Executes a run of a job to its end. */
async function execute(job: ReturnType<typeof jobOf>, options: object = {}) {
  const tock = test.another({ jobs: [job], ...options });
  const id = await tock.enqueue(job);
  const run = await tock.runs.wait(id, { execute: true });
  return { id, tock, run, logs: await tock.runs.log(id) };
}
const said = (logs: Awaited<ReturnType<Tock['runs']['log']>>) =>
  logs.map(({ lines }) => lines.map(({ level, text }) => `${level} ${text}`));

describe('ctx.log', () => {
  it('is kept with the attempt in order: level, text and fields; and still goes to the logger', async () => {
    const collected = collectLines();
    const job = jobOf(({ log }) => {
      log.debug({ n: 0 }, 'not kept by default');
      log.info({ n: 1, tenant: 'a' }, 'one');
      log.warn({}, 'two');
      log.error({ event: 'mail.refused' });
      const pino = log as unknown as Record<'info' | 'error', (...all: unknown[]) => void>;
      pino.info('%s of %d', 'three', 4);
      pino.error(new RangeError('too far'));
    });
    const { logs, run } = await execute(job, { logger: collected.logger });
    expect(run.status).toBe('succeeded');
    expect(said(logs)).toEqual([
      ['info one', 'warn two', 'error mail.refused', 'info three of 4', 'error too far'],
    ]);
    expect(logs[0]).toMatchObject({ attempt: 1, fence: 1, cutBytes: 0, cutLines: 0 });
    const fields = logs[0]?.lines.map(line => line.fields);
    expect(fields?.[0]).toEqual({ n: 1, tenant: 'a' });
    expect(fields?.[1]).toBeNull();
    expect(fields?.[4]).toMatchObject({ err: { type: 'RangeError', message: 'too far' } });
    expect(collected.lines).toContainEqual({ n: 1, tenant: 'a', message: 'one' });
  });

  it('of children is kept with their fields', async () => {
    const { logs } = await execute(
      jobOf(({ log }) => log.child({ shop: 7 }).child({ day: 1 }).info({ n: 2 }, 'sold')),
    );
    expect(logs[0]?.lines[0]).toMatchObject({ text: 'sold', fields: { shop: 7, day: 1, n: 2 } });
  });

  it('is kept by attempt, of those that failed too', async () => {
    const job = jobOf(
      ({ log, attempt }) => {
        log.info({}, `attempt ${attempt}`);
        if (attempt < 3) throw new Error('again');
      },
      undefined,
      { retry: { base: 1, jitter: 0, backoff: 'fixed' } },
    );
    const { logs, tock, id } = await execute(job);
    expect(said(logs)).toEqual([['info attempt 1'], ['info attempt 2'], ['info attempt 3']]);
    expect(logs.map(({ attempt, fence }) => [attempt, fence])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(said(await tock.runs.log(id, { attempt: 2 }))).toEqual([['info attempt 2']]);
    expect(await tock.runs.log(id, { attempt: 9 })).toEqual([]);
    expect(await tock.runs.log('999999')).toEqual([]);
    expect(await tock.runs.log('no id')).toEqual([]);
  });

  it('is kept when the handler commits its success itself, and what it says afterwards', async () => {
    const { logs, run } = await execute(
      jobOf(async ctx => {
        ctx.log.info({}, 'before');
        await ctx.transaction(() => 'done');
        ctx.log.info({}, 'after');
      }),
    );
    expect(run).toMatchObject({ status: 'succeeded', output: 'done' });
    expect(said(logs)).toEqual([['info before', 'info after']]);
  });

  it('is bounded: a flood keeps its first and last lines, and says how much is missing', {
    tags: 'check',
  }, async () => {
    const line = 'x'.repeat(1000);
    const { logs } = await execute(
      jobOf(({ log }) => {
        for (let count = 0; count < 10_000; count++) log.info({}, `${count} ${line}`);
      }),
    );
    const [{ lines, cutLines, cutAfter, cutBytes } = expect.fail()] = logs;
    expect(lines[0]?.text).toBe(`0 ${line}`);
    expect(lines.at(-1)?.text).toBe(`9999 ${line}`);
    expect(lines.length + cutLines).toBe(10_000);
    expect(lines[cutAfter]?.text.split(' ')[0]).toBe(String(cutAfter + cutLines));
    const [row] = await test.sql<{ bytes: number }>(
      'select octet_length(head) + octet_length(tail) as bytes from tock.job_logs',
    );
    expect(row?.bytes).toBeLessThanOrEqual(65_536);
    expect(row?.bytes).toBeGreaterThan(60_000);
    expect(cutBytes).toBeGreaterThan(9_900_000);
  });

  it('holds neither passwords nor what PostgreSQL cannot store', async () => {
    const { logs } = await execute(
      jobOf(({ log }) => log.info({ url: 'postgres://ada:s3cret@db/app' }, 'a\0b \uD800 \u001B[31mred')),
    );
    expect(logs[0]?.lines[0]).toMatchObject({
      text: 'a\uFFFDb \uFFFD \u001B[31mred',
      fields: { url: 'postgres://ada:***@db/app' },
    });
  });
});

describe('what does not count of a result or a policy', () => {
  const LOST = 'warn output.users is a Map, which JSON keeps as {}: return Object.fromEntries(map)';
  const result = () => ({ users: new Map([[1, 'ann']]) }) as never;

  it.each<[string, (ctx: JobContext) => unknown]>([
    ['returned', result],
    ['the result of ctx.transaction, which is said once', ctx => ctx.transaction(result)],
  ])('is said in the log of the run: what is lost of an output, %s', async (_how, run) => {
    const { run: ended, logs } = await execute(jobOf(run));
    expect(ended).toMatchObject({ status: 'succeeded', output: { users: {} } });
    expect(said(logs)).toEqual([[LOST]]);
  });

  it.each([[true], [false]])(
    'is said of the run of a batch whose it is (in a transaction: %s)',
    async isOne => {
      const batch = defineJob({
        name: 'batch',
        batch: { size: 2, within: '1m' },
        run: async (ctx, runs) => {
          runs.succeed(runs[0] as never, result());
          if (isOne) await ctx.transaction(() => undefined);
        },
      });
      const tock = test.another({ jobs: [batch] });
      const ids = await tock.enqueueMany([{ job: batch }, { job: batch }]);
      await tock.tick();
      expect(await Promise.all(ids.map(async id => said(await tock.runs.log(id))))).toEqual([[[LOST]], []]);
    },
  );

  it('is said where the backoff function gives no duration, so that the default holds', async () => {
    const job = jobOf(
      () => {
        throw new Error('no');
      },
      undefined,
      { retry: { maxAttempts: 2, backoff: () => Number.NaN } },
    );
    const tock = test.another({ jobs: [job] });
    const id = await tock.enqueue(job);
    await tock.tick();
    expect(said(await tock.runs.log(id))).toEqual([
      [
        expect.stringMatching(
          /^warn the next attempt waits as by default, .*: the result of retry.backoff NaN is not/,
        ),
      ],
    ]);
  });
});

describe('logs', () => {
  const talk = ({ log }: JobContext) => {
    for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level]({}, level);
  };
  const rows = async () => (await test.sql('select from tock.job_logs')).length;

  it.each<[string, LogsOption | undefined, LogsOption | undefined, string[]]>([
    ['nothing, by createTock', false, undefined, []],
    ['nothing, by the job', undefined, false, []],
    ['the job’s, whatever createTock says', false, true, ['info', 'warn', 'error']],
    ['every level', { level: 'debug' }, undefined, ['debug', 'info', 'warn', 'error']],
    ['errors only', { level: 'debug' }, { level: 'error' }, ['error']],
  ])('keeps %s', { tags: 'check' }, async (_what, ofTock, ofJob, kept) => {
    const { logs } = await execute(jobOf(talk, ofJob), ofTock === undefined ? {} : { logs: ofTock });
    expect(logs.flatMap(({ lines }) => lines.map(line => line.text))).toEqual(kept);
    expect(await rows()).toBe(kept.length === 0 ? 0 : 1);
  });

  it('keeps no more bytes than it was given', async () => {
    const { logs } = await execute(
      jobOf(({ log }) => {
        for (let count = 0; count < 100; count++) log.info({}, `line ${count} ${'é'.repeat(50)}`);
      }),
      { logs: { maxBytes: 2048 } },
    );
    expect(logs[0]?.cutLines).toBeGreaterThan(70);
    const [row] = await test.sql<{ bytes: number }>(
      'select octet_length(head) + octet_length(tail) as bytes from tock.job_logs',
    );
    expect(row?.bytes).toBeLessThanOrEqual(2048);
  });
});

describe('a run that logs nothing', () => {
  /** The statements that a tick sends which executes one run. */
  const sentBy = async (run: (ctx: JobContext) => unknown, logs: LogsOption) => {
    const recorder = await openRecorder(test.url);
    const job = jobOf(run, logs);
    const tock = test.another({ jobs: [job], connectionString: recorder.url });
    await tock.enqueue(job);
    expect(await tock.tick()).toMatchObject({ executed: { succeeded: 1 } });
    await tock.close();
    await recorder.close();
    return new Set(recorder.statements());
  };

  it('sends what one sends for which nothing is kept, and leaves no row; one that logs sends one more', {
    tags: 'check',
  }, async () => {
    const silent = ({ log }: JobContext) => void log.isLevelEnabled?.('info');
    // A tick in which a minute turns sends more.
    await test.setClock(new Date().toISOString());
    // The first tick registers.
    await sentBy(silent, false);
    const off = await sentBy(silent, false);
    expect(await sentBy(silent, true)).toEqual(off);
    expect(await test.sql('select from tock.job_logs')).toEqual([]);
    const more = await sentBy(({ log }) => log.info({}, 'one'), true);
    expect([...more].filter(statement => !off.has(statement))).toHaveLength(1);
  });
});

it('an attempt that is released keeps its log under its own fence, beside that of the next one', {
  tags: 'check',
}, async () => {
  let hasBegun = false;
  const job = jobOf(async ({ log, fence, signal }) => {
    log.info({}, `fence ${fence}`);
    hasBegun = true;
    if (fence === 1)
      await new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      );
  });
  const tock = test.another({ jobs: [job], drain: '0s', grace: '1s' });
  const id = await tock.enqueue(job);
  const daemon = await tock.start();
  await until(() => Promise.resolve(hasBegun), 'the run to begin');
  await daemon.stop();
  expect((await tock.runs.wait(id, { execute: true })).status).toBe('succeeded');
  const logs = await tock.runs.log(id);
  expect(said(logs)).toEqual([['info fence 1'], ['info fence 2']]);
  expect(logs.map(({ attempt, fence }) => [attempt, fence])).toEqual([
    [1, 1],
    [1, 2],
  ]);
});
