// What a daemon does when runs end: whatever may start now starts. No poll and no beat comes meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.js';
import { defineJob } from '../../src/index.js';
import type { Session } from '../../src/store/connection/database.js';
import { definedStatements } from '../../src/store/connection/statement.js';
import { openDatabase } from '../support/database.js';
import { engineOver } from '../support/engine.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const POLL_MS = 600_000;
/** None during the test. */
const BEAT = { expression: '0 0 1 1 *', maxPauseMs: POLL_MS };
const held = new Map<string, () => void>();
const started: string[] = [];
/** Ends when `end` says so. */
const waits = defineJob({
  name: 'waits',
  run: async (_, { n }: { n: string }) => {
    started.push(n);
    await new Promise<void>(resolve => void held.set(n, resolve));
  },
});
const quick = defineJob({ name: 'quick', run: () => null });
const limited = defineJob({ ...waits, name: 'limited', concurrency: { limit: 1 } });
const end = (n: string) => held.get(n)?.();

const test = openForEach(() => reuseTestTock([waits, limited, quick]));
const database = openForEach(() => openDatabase({ connectionString: test.url }));
let daemon: Daemon | undefined;
/** Names of the statements that were sent. */
let sent: string[];
/** Somebody who enqueues may not know yet that the daemon sleeps: it polls again until all do. */
let isUnknown: boolean;
beforeEach(() => {
  sent = [];
  isUnknown = true;
  started.length = 0;
});
afterEach(async () => {
  for (const release of held.values()) release();
  await daemon?.stop();
  daemon = undefined;
});

const start = async (concurrency: number) => {
  const names = new Map([...definedStatements()].map(([name, { text }]) => [text, name]));
  const watched =
    (session: Session): Session['run'] =>
    async <Row>(...[text, ...rest]: Parameters<Session['run']>) => {
      const name = names.get(text) ?? 'another';
      sent.push(name);
      if (name === 'insert sleeper' || name === 'delete sleeper') isUnknown = name === 'insert sleeper';
      const rows = await session.run<Row>(text, ...rest);
      if (name === 'have all ended before' && (rows[0] as { haveEnded: boolean }).haveEnded)
        isUnknown = false;
      return rows;
    };
  const engine = engineOver({ ...database, run: watched(database) }, [waits, limited, quick]);
  daemon = await startDaemon(engine, { concurrency }, POLL_MS, BEAT);
  await quiet();
};
/** Until it sleeps, and waits for no transaction that could not see that. */
const quiet = async () => {
  let before = -1;
  await until(async () => {
    const isQuiet = before === sent.length && !isUnknown;
    before = sent.length;
    if (!isQuiet) await sleep(1500);
    return isQuiet;
  }, 'the daemon to sleep');
};
const isStarted = (n: string) => until(async () => started.includes(n), `run ${n} to start`);
const isEnded = (id: string) =>
  until(async () => (await test.tock.runs.get(id))?.status === 'succeeded', `run ${id} to end`);
const searches = () => sent.filter(name => /^(?:claim|next-due)/.test(name));

describe('a daemon whose last run ends', () => {
  it('sleeps on where a notification has brought it, and is woken by the next', async () => {
    await start(4);
    sent.length = 0;
    for (const n of ['a', 'b']) {
      const id = await test.tock.enqueue(waits, { n });
      await isStarted(n);
      end(n);
      await isEnded(id);
      await quiet();
    }
    // After each, or both, the complete claim comes that is owed, the sooner the quicker the last one was; no poll.
    const found = searches();
    expect(found.filter(name => name !== 'claim')).toEqual(['claim-in-lane', 'claim-in-lane']);
    expect(found.length).toBeLessThanOrEqual(4);
  });

  it('claims everywhere while others execute, and sleeps on after them', async () => {
    await start(4);
    sent.length = 0;
    const first = await test.tock.enqueue(waits, { n: 'a' });
    await isStarted('a');
    const second = await test.tock.enqueue(waits, { n: 'b' });
    await isStarted('b');
    for (const [n, id] of Object.entries({ a: first, b: second })) {
      end(n);
      await isEnded(id);
    }
    await quiet();
    // The second was claimed everywhere: others might have waited for room. Then the complete claim comes, in a time that
    // grows with how long the last one took.
    await until(async () => searches().length > 2, 'the complete claim');
    expect(searches()).toEqual(['claim-in-lane', 'claim', 'claim']);
    sent.length = 0;
    const third = await test.tock.enqueue(waits, { n: 'c' });
    await isStarted('c');
    end('c');
    await isEnded(third);
    await quiet();
    await until(async () => searches().length > 1, 'the complete claim');
    expect(searches()).toEqual(['claim-in-lane', 'claim']);
  });

  it('counts what notifications bring: where they come in a stream, it asks whether they hold up sessions', async () => {
    await start(4);
    const untilSucceeded = async (count: number) => {
      while ((daemon?.outcomeCounts.succeeded ?? 0) < count) await sleep(1);
    };
    const endAt = performance.now() + 120_000;
    for (let n = 1; !sent.includes('is notify lock awaited') && performance.now() < endAt; n++) {
      await test.tock.enqueue(quick);
      await untilSucceeded(n);
    }
    expect(sent).toContain('is notify lock awaited');
    expect(searches().filter(name => name === 'claim-in-lane').length).toBeGreaterThan(9);
  });

  it('starts one in time that its handler has enqueued for later', async () => {
    await start(4);
    await test.tock.enqueue(waits, { n: 'a' });
    await isStarted('a');
    await until(async () => searches().at(-1) === 'claim-in-lane', 'the claim');
    await test.tock.enqueue(waits, { n: 'later' }, { delay: '1s' });
    end('a');
    await isStarted('later');
    expect(started).toEqual(['a', 'later']);
  });

  it('starts those that were enqueued with it elsewhere, or need a slot', async () => {
    await start(9);
    const client = new pg.Client({ connectionString: test.url });
    await client.connect();
    await client.query('begin');
    await test.tock.enqueue(waits, { n: 'free' }, { client });
    await test.tock.enqueue(limited, { n: 'limited' }, { client });
    await test.tock.enqueue(waits, { n: 'elsewhere' }, { client, queue: 'mail' });
    await test.tock.enqueue(waits, { n: 'less urgent' }, { client, priority: 9 });
    await client.query('commit');
    await client.end();
    for (const n of ['free', 'limited', 'elsewhere', 'less urgent']) await isStarted(n);
    expect(started).toHaveLength(4);
  });

  it('polls for those that had no room', async () => {
    await start(1);
    await test.tock.enqueue(waits, { n: 'a' });
    await isStarted('a');
    await test.tock.enqueueMany(['b', 'c', 'd'].map(n => ({ job: waits, payload: { n } })));
    await quiet();
    const all = ['a', 'b', 'c', 'd'];
    for (const n of all) {
      await isStarted(n);
      end(n);
    }
    expect(started).toEqual(all);
  });

  it('polls for those that the limit of a queue has kept, also while others execute', async () => {
    await test.tock.queues.set('one', { concurrency: 1 });
    await start(4);
    await test.tock.enqueue(waits, { n: 'another' });
    await isStarted('another');
    for (const n of ['a', 'b']) await test.tock.enqueue(waits, { n }, { queue: 'one' });
    await isStarted('a');
    await quiet();
    expect(started).toEqual(['another', 'a']);
    end('a');
    await isStarted('b');
  });

  it('polls for what waits after one that did not succeed', async () => {
    const fails = defineJob({
      name: 'waits',
      retry: { maxAttempts: 2, backoff: () => '10ms' },
      run: ctx => {
        started.push(`attempt ${ctx.attempt}`);
        if (ctx.attempt === 1) throw new Error('once');
      },
    });
    const engine = engineOver(database, [fails]);
    daemon = await startDaemon(engine, {}, POLL_MS, BEAT);
    await isEnded(await test.tock.enqueue(waits, { n: 'x' }));
    expect(started).toEqual(['attempt 1', 'attempt 2']);
  });
});
