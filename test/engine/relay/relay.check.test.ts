// A relay from the claim to the outcome, with a broker in memory that can fail in all the ways that brokers do.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob } from '../../../src/index.js';
import type { RelayMessage } from '../../../src/relay/messages.js';
import { startRelay } from '../../../src/relay/start-relay.js';
import { consume, createRelay, type Relay, type RelayOptions } from '../../../src/relay.js';
import { gate } from '../../support/gate.js';
import { collectLines } from '../../support/lines.js';
import { echo, MemoryBroker } from '../../support/memory-broker.js';
import { openForEach } from '../../support/open.js';
import { openTestTock, reuseTestTock, until } from '../../support/test-tock.js';

const executed: string[] = [];
const mail = defineJob({
  name: 'mail',
  queue: 'mail',
  payload: z.object({ to: z.string() }),
  timeout: '1ms',
  retry: { maxAttempts: 3, backoff: 'fixed', base: '10ms', jitter: 0 },
  run: ctx => void executed.push(ctx.runId),
});
const other = defineJob({ name: 'other', run: ctx => void executed.push(ctx.runId) });
const single = defineJob({ name: 'single', queue: 'mail', concurrency: { limit: 1 }, run: () => null });

const test = openForEach(() => reuseTestTock([mail, other, single], { logger }));
let broker: MemoryBroker;
let relays: Relay[];
const { logger, lines } = collectLines();
const events = (event: string) => lines.filter(line => line['event'] === event);

beforeEach(() => {
  broker = new MemoryBroker();
  relays = [];
  executed.length = 0;
  (lines as unknown[]).length = 0;
});
afterEach(async () => {
  await Promise.all(relays.map(relay => relay.stop()));
  await broker.close();
});

const open = async (options: Partial<RelayOptions> = {}, tuning: Parameters<typeof startRelay>[1] = {}) => {
  const relay = await startRelay({ tock: test.tock, queues: ['mail'], broker, ...options }, tuning);
  relays.push(relay);
  return relay;
};
const enqueue = async (count: number) =>
  (await test.tock.enqueueMany(
    Array.from({ length: count }, (_, index) => ({ job: 'mail', payload: { to: `a${index}` } })),
  )) as string[];
const ended = (ids: readonly string[], status = 'succeeded') =>
  until(
    async () =>
      (await test.sql(`select from tock.job_runs where id = any($1) and status = $2`, [ids, status]))
        .length === ids.length,
    `${ids.length} runs to be ${status}`,
  );
const taken = (count: number) =>
  until(() => Promise.resolve(broker.taken.length >= count), `${count} messages`);
const answer = (message: RelayMessage | undefined, body: object = { kind: 'succeeded' }) =>
  broker.answer({ tock: 1, run: message?.run, fence: message?.fence, ...body });
const handedOff = (count: number) =>
  until(
    async () =>
      (
        await test.sql(
          `select from tock.job_runs_live where locked_by = '00000000-0000-0000-0000-000000000000'`,
        )
      ).length === count,
    `${count} runs to be handed off`,
  );
/** The figures of the queue `mail`, whose sums must balance. */
const figuresOf = async (relay: Relay) => {
  const { queues } = await relay.figures();
  const [figures] = queues;
  if (figures === undefined) throw new Error('there are no figures');
  expect(figures.completed + figures.failed + figures.leaseEnded + figures.waiting).toBe(figures.handedOff);
  return figures;
};

describe('a relay', () => {
  it('publishes what is due, and completes what is answered', async () => {
    const relay = await open();
    const ids = await enqueue(3);
    await taken(3);
    const [message] = broker.taken;
    expect(message).toMatchObject({
      tock: 1,
      run: ids[0],
      fence: 1,
      job: 'mail',
      queue: 'mail',
      definition: null,
      attempt: 1,
      maxAttempts: 3,
      trigger: 'api',
      scheduledFor: null,
      intervalStart: null,
      occurrenceCount: 1,
      idempotencyKey: null,
      payload: { to: 'a0' },
      leaseMs: 300_000,
      traceparent: null,
    });
    expect(Math.abs(Date.parse(message?.publishedAt ?? '') - Date.now())).toBeLessThan(3_600_000);
    await handedOff(3);
    expect((await test.tock.runs.get(ids[0] ?? ''))?.handOff?.to).toBe('memory: tock.work.mail');
    const consumer = await echo(broker, ['mail']);
    await ended(ids);
    await consumer.stop();
    expect((await test.tock.runs.get(ids[1] ?? ''))?.output).toEqual({ to: 'a1' });
    expect(executed).toEqual([]);
    // It counts them a moment after it has written them.
    await until(async () => (await relay.figures()).completed === 3, 'the relay to count them');
    expect(await figuresOf(relay)).toMatchObject({ handedOff: 3, completed: 3, waiting: 0, refused: 0 });
    expect(await relay.figures()).toMatchObject({
      published: 3,
      unconfirmed: 0,
      completed: 3,
      outstanding: 0,
    });
  });

  it('does for a success what a worker does: a line, a hook, a free slot, and what follows its definition', async () => {
    const hooked: unknown[][] = [];
    const parent = defineJob({
      name: 'parent',
      queue: 'mail',
      schedule: { cron: '0 2 * * *' },
      run: () => null,
    });
    const child = defineJob({ name: 'child', schedule: { after: 'parent' }, run: () => 'followed' });
    const own = await openTestTock([parent, child], {
      logger,
      hooks: {
        onSuccess: ({ job, scheduledFor }, { output }) =>
          void hooked.push([job, scheduledFor?.toISOString(), output]),
      },
    });
    try {
      await own.setClock('2026-03-02T12:00:00Z');
      await own.tock.register();
      const relay = await createRelay({ tock: own.tock, queues: ['mail'], broker });
      const consumer = await broker.receiveMessages({ queues: ['mail'], concurrency: 1 }, async body => {
        await answer(body as RelayMessage, { kind: 'succeeded', result: { pages: 3 } });
      });
      await own.setClock('2026-03-03T02:00:01Z');
      await own.tock.tick();
      await until(async () => hooked.length > 0, 'the hook');
      // The answer may come while the tick goes on, which then executes what follows, too.
      expect(hooked.filter(([job]) => job === 'parent')).toEqual([
        ['parent', '2026-03-03T02:00:00.000Z', { pages: 3 }],
      ]);
      expect(events('run.succeeded').filter(({ job }) => job === 'parent')).toMatchObject([
        { job: 'parent', attempt: 1, scheduled_for: '2026-03-03T02:00:00.000Z' },
      ]);
      expect(await own.sql('select from tock.job_slots')).toEqual([]);
      await own.tock.tick();
      expect(await own.tock.runs.list({ definition: 'child' })).toMatchObject([
        { status: 'succeeded', output: 'followed' },
      ]);
      await consumer.stop();
      await relay.stop();
    } finally {
      await own.close();
    }
  });

  it('tries again what consumers say has failed, and buries what they say is dead', async () => {
    const relay = await open();
    const [again = '', dead = ''] = await enqueue(2);
    await taken(2);
    await answer(broker.taken[0], {
      kind: 'failed',
      message: 'no\0 route',
      code: 'E7',
      retryAt: '9999-01-01',
    });
    await answer(broker.taken[1], { kind: 'failed', message: 'no such address', retry: false });
    await ended([dead], 'dead');
    await until(() => Promise.resolve(broker.taken.length === 3), 'the second attempt');
    expect(broker.taken[2]).toMatchObject({ run: again, fence: 2, attempt: 2 });
    expect((await test.tock.runs.get(again))?.errors[0]).toMatchObject({ message: 'no\ufffd route' });
    await answer(broker.taken[2]);
    await ended([again]);
    expect(await figuresOf(relay)).toMatchObject({ handedOff: 3, completed: 1, failed: 2 });
  });

  it('publishes a job that its own process does not know, and lets no definition vanish', async () => {
    const nightly = defineJob({ name: 'nightly', schedule: { cron: '0 2 * * *' }, run: () => null });
    await test.another({ jobs: [mail, nightly] }).register();
    await open({ tock: test.another({ jobs: [] }) });
    const [id = ''] = await enqueue(1);
    await taken(1);
    await answer(broker.taken[0], { kind: 'progress', fraction: 0.5, stage: 'half' });
    await answer(broker.taken[0]);
    await ended([id]);
    const kept = (await test.tock.schedules.list()).find(({ name }) => name === 'nightly');
    expect(kept?.vanishedAt).toBeNull();
  });

  it('does not publish a payload that does not fit', async () => {
    await open();
    const [bad = ''] = await test
      .sql<{ id: string }>(
        `insert into tock.job_runs (job, queue, payload, status, max_attempts) values ('mail', 'mail', '{"to": 7}', 'queued', 1) returning id`,
      )
      .then(rows => rows.map(({ id }) => id));
    await ended([bad], 'dead');
    expect((await test.tock.runs.get(bad))?.errors[0]).toMatchObject({ code: 'TOCK_BAD_PAYLOAD' });
    expect(broker.taken).toEqual([]);
  });

  it('gives the broker what is due at once in one batch', async () => {
    const ids = await enqueue(250);
    await open();
    await taken(250);
    expect(broker.calls.length).toBeLessThan(20);
    expect(new Set(broker.taken.map(({ run }) => run))).toEqual(new Set(ids));
  });

  it('claims no more than maxOutstanding until some are answered', async () => {
    const relay = await open({ maxOutstanding: 4 });
    const ids = await enqueue(10);
    await taken(4);
    await handedOff(4);
    await until(async () => (await relay.figures()).outstanding === 4, 'the relay to count them');
    expect(broker.taken).toHaveLength(4);
    const consumer = await echo(broker, ['mail']);
    await ended(ids);
    await consumer.stop();
    expect(await figuresOf(relay)).toMatchObject({ handedOff: 10, completed: 10 });
  });

  it('takes back what nobody answers, and refuses the old answer', async () => {
    await test.setClock('2026-03-02T12:00:00Z');
    const relay = await open({ lease: '1m' });
    const [id = ''] = await enqueue(1);
    await taken(1);
    await handedOff(1);
    await test.advance('61s');
    await until(async () => {
      await test.advance('1s');
      return broker.taken.length === 2;
    }, 'the second attempt');
    await answer(broker.taken[0]);
    await answer(broker.taken[1]);
    await ended([id]);
    await until(async () => (await relay.figures()).refused === 1, 'the old answer to be refused');
    expect(await figuresOf(relay)).toMatchObject({ handedOff: 2, completed: 1, leaseEnded: 1, refused: 1 });
  });

  it('extends leases', async () => {
    await open({ lease: '1m' });
    const [id = ''] = await enqueue(1);
    await taken(1);
    await handedOff(1);
    await answer(broker.taken[0], { kind: 'extend', leaseMs: 86_400_000 });
    await until(
      async () =>
        ((await test.tock.runs.get(id))?.handOff?.leaseUntil?.getTime() ?? 0) > Date.now() + 80_000_000,
      'the longer lease',
    );
    expect(broker.taken).toHaveLength(1);
  });

  it('drops what is no answer, and decides the others', async () => {
    const relay = await open();
    const ids = await enqueue(3);
    await taken(3);
    await handedOff(3);
    const [first, second, third] = broker.taken;
    broker.forge(
      null,
      'succeeded',
      { tock: 2, run: first?.run, fence: 1, kind: 'succeeded' },
      { tock: 1, run: `${first?.run}; drop table`, fence: 1, kind: 'succeeded' },
      { tock: 1, run: first?.run, fence: '1', kind: 'succeeded' },
      { tock: 1, run: first?.run, fence: 1, kind: 'done' },
      { tock: 1, run: first?.run, fence: 7, kind: 'succeeded' },
      { tock: 1, run: '99999999', fence: 1, kind: 'succeeded' },
      { tock: 1, run: first?.run, fence: 1, kind: 'succeeded', result: 'x'.repeat(1_600_000) },
      { tock: 1, run: second?.run, fence: 1, kind: 'succeeded', result: { id: 2 ** 60 } },
      // Several together.
      [
        { tock: 1, run: third?.run, fence: 1, kind: 'succeeded', result: 'fine' },
        { tock: 1, run: third?.run, fence: 1, kind: 'failed', message: 'no' },
      ],
    );
    await ended([ids[2] ?? '']);
    await ended(ids.slice(0, 2), 'dead');
    expect((await test.tock.runs.get(ids[0] ?? ''))?.errors[0]).toMatchObject({ code: 'TOCK_BAD_RESULT' });
    expect((await test.tock.runs.get(ids[1] ?? ''))?.errors[0]).toMatchObject({ code: 'TOCK_BAD_RESULT' });
    expect((await test.tock.runs.get(ids[2] ?? ''))?.output).toBe('fine');
    await until(async () => {
      const { malformed, refused, completed, failed } = await relay.figures();
      return malformed + refused + completed + failed >= 12;
    }, 'the relay to count them');
    expect(await relay.figures()).toMatchObject({ malformed: 6, refused: 3, completed: 1, failed: 2 });
    // Two of them are wrong in the same way.
    expect(events('relay.bad_answer')).toHaveLength(5);
    await figuresOf(relay);
  });

  it('has answers delivered again while they cannot be written', async () => {
    const relay = await open();
    const [id = ''] = await enqueue(1);
    await taken(1);
    await handedOff(1);
    await test.sql(`
      create function tock.not_now() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$;
      create trigger not_now before insert or update or delete on tock.job_hand_offs execute function tock.not_now()`);
    try {
      await answer(broker.taken[0]);
      await until(() => Promise.resolve(broker.rejections > 1), 'two rejections');
    } finally {
      await test.sql('drop function tock.not_now() cascade');
    }
    await ended([id]);
    expect(events('relay.answers_waiting')).toHaveLength(1);
    expect(await figuresOf(relay)).toMatchObject({ handedOff: 1, completed: 1, refused: 0 });
  });
});

it('a consumer executes the handlers of the relay’s messages elsewhere, by the same jobs', async () => {
  const relay = await open();
  const consumer = await consume({ broker, jobs: [mail], logger: false });
  const ids = await enqueue(20);
  await ended(ids);
  await consumer.stop();
  expect(executed.toSorted()).toEqual(ids.toSorted());
  expect(await figuresOf(relay)).toMatchObject({ handedOff: 20, completed: 20, waiting: 0 });
});

describe('a broker that fails', () => {
  it('is found to be away and back: nothing is claimed meanwhile, no attempt counted, one line each way', async () => {
    broker.isAway = true;
    const relay = await open();
    const ids = await enqueue(300);
    await until(() => Promise.resolve(broker.calls.length > 1), 'a second try');
    expect((await relay.figures()).isBrokerAway).toBe(true);
    expect(Math.min(...broker.calls.slice(1))).toBeLessThanOrEqual(10);
    broker.isAway = false;
    const consumer = await echo(broker, ['mail']);
    await ended(ids);
    await consumer.stop();
    expect(await test.sql('select from tock.job_runs where attempts <> 1')).toEqual([]);
    expect(events('relay.broker_away')).toHaveLength(1);
    expect(events('relay.broker_back')).toHaveLength(1);
    expect(lines.length).toBeLessThan(2 * 300 + 50);
    expect(await figuresOf(relay)).toMatchObject({ handedOff: 300, completed: 300 });
  });

  it('may have delivered what it did not confirm: the old answer changes nothing', async () => {
    let count = 0;
    broker.losesConfirms = () => count++ < 5;
    const relay = await open();
    const ids = await enqueue(20);
    await taken(25);
    await handedOff(20);
    for (const message of broker.taken) await answer(message, { kind: 'succeeded', result: message.fence });
    await ended(ids);
    const repeated = new Set(broker.taken.filter(({ fence }) => fence === 2).map(({ run }) => run));
    expect(repeated.size).toBe(5);
    for (const id of ids) expect((await test.tock.runs.get(id))?.output).toBe(repeated.has(id) ? 2 : 1);
    await until(async () => (await relay.figures()).refused === 5, 'the old answers to be refused');
    expect(await figuresOf(relay)).toMatchObject({ handedOff: 20, completed: 20 });
    expect(await test.sql('select from tock.job_runs where attempts <> 1')).toEqual([]);
  });

  it('did deliver what is answered already, whatever becomes of the confirmation', async () => {
    broker.losesConfirms = () => true;
    const publish = broker.publish.bind(broker);
    // The answer is committed before the confirmation is missed.
    broker.publish = async messages => {
      const errors = await publish(messages);
      for (const { run, fence } of messages) expect(await test.tock.complete(run, fence, 'quick')).toBe(true);
      return errors;
    };
    await open();
    const [id = ''] = await enqueue(1);
    await ended([id]);
    expect(await test.tock.runs.get(id)).toMatchObject({ output: 'quick', attempts: 1 });
    expect(broker.taken).toHaveLength(1);
  });

  it('may be slower to confirm than a consumer to answer: the answer waits for the handoff to be on record', async () => {
    const publish = broker.publish.bind(broker);
    broker.publish = async messages => {
      const errors = await publish(messages);
      for (const message of messages) await answer(message, { kind: 'succeeded', result: 'quick' });
      await until(async () => broker.answers.length === 0, 'the answers to be taken');
      return errors;
    };
    const relay = await open();
    const ids = await enqueue(10);
    await ended(ids);
    expect(
      await test.sql(
        'select from tock.job_hand_offs where decided_at >= handed_off_at and written_at = decided_at',
      ),
    ).toHaveLength(10);
    expect(await test.tock.runs.get(ids[0] ?? '')).toMatchObject({ output: 'quick', attempts: 1 });
    expect(await figuresOf(relay)).toMatchObject({ handedOff: 10, completed: 10, refused: 0 });
  });

  it('delivers messages and answers twice: each run is completed once', async () => {
    broker.deliversTwice = true;
    const relay = await open();
    const ids = await enqueue(100);
    const consumer = await echo(broker, ['mail']);
    await ended(ids);
    await until(async () => {
      const { refused, completed } = await relay.figures();
      return completed === 100 && refused === 300;
    }, 'the other three answers of each run to be refused');
    await consumer.stop();
    expect(await figuresOf(relay)).toMatchObject({ handedOff: 100, completed: 100, refused: 300 });
  });

  it('that never answers has confirmed nothing', async () => {
    const { opened, open: release } = gate();
    broker.held = opened;
    const relay = await open({}, { publishTimeoutMs: 50 });
    const ids = await enqueue(2);
    await until(async () => (await relay.figures()).unconfirmed >= 2, 'messages without confirmation');
    release();
    const consumer = await echo(broker, ['mail']);
    await ended(ids);
    await consumer.stop();
    const { handedOff: count, completed } = await figuresOf(relay);
    expect(completed).toBe(count);
  });

  it('refuses one message for good: in the end that counts as an attempt, and the run is dead', async () => {
    broker.refuses = message => (message.payload as { to: string }).to === 'a0';
    const [bad = '', ...others] = await enqueue(3);
    await test.sql('update tock.job_runs_live set fence = 200 where id = $1', [bad]);
    await open();
    const consumer = await echo(broker, ['mail']);
    await ended(others);
    await until(async () => {
      await test.tock.enqueue('mail', { to: 'others' });
      return (await test.tock.runs.get(bad))?.status === 'dead';
    }, 'its death');
    await consumer.stop();
    expect((await test.tock.runs.get(bad))?.errors.at(-1)).toMatchObject({ code: 'TOCK_UNPUBLISHED' });
  });
});

describe('a message that can never be published', () => {
  const isBad = ({ payload }: RelayMessage) => (payload as { to: string }).to.startsWith('bad');
  const enqueueBad = async (count: number) =>
    (await test.tock.enqueueMany(
      Array.from({ length: count }, (_, index) => ({ job: 'mail', payload: { to: `bad${index}` } })),
    )) as string[];

  it('fails its attempts, alone in its batch too, until its run is dead: the broker is not away', async () => {
    broker.refusesContent = isBad;
    const relay = await open();
    const consumer = await echo(broker, ['mail']);
    const [bad = ''] = await enqueueBad(1);
    await ended([bad], 'dead');
    expect((await relay.figures()).isBrokerAway).toBe(false);
    await ended(await enqueue(3));
    await consumer.stop();
    const run = await test.tock.runs.get(bad);
    expect(run).toMatchObject({ attempts: 3 });
    expect(run?.errors).toHaveLength(3);
    expect(run?.errors[0]).toMatchObject({
      code: 'TOCK_UNPUBLISHED',
      message: 'memory does not take this message: it is too large',
    });
    expect(events('relay.broker_away')).toEqual([]);
    expect(await figuresOf(relay)).toMatchObject({ handedOff: 3, completed: 3 });
  });

  it('does not keep the relay from finding that the broker is back', async () => {
    broker.isAway = true;
    const relay = await open();
    // More than are tried at first.
    const bad = await enqueueBad(25);
    await until(async () => (await relay.figures()).isBrokerAway, 'the broker to be away');
    const good = await enqueue(3);
    broker.refusesContent = isBad;
    broker.isAway = false;
    const consumer = await echo(broker, ['mail']);
    await ended(good);
    await ended(bad, 'dead');
    await consumer.stop();
    expect(await test.sql('select from tock.job_runs where attempts <> 3 and id = any($1)', [bad])).toEqual(
      [],
    );
    expect(events('relay.broker_back')).toHaveLength(1);
  });

  it('never reaches the broker if its payload cannot be written as JSON, and fails no other of its batch', async () => {
    const levels = 5000;
    await test.sql('alter domain tock.payload drop constraint payload_nested_at_most_200_levels');
    const [row] = await test.sql<{ id: string }>(
      `insert into tock.job_runs (job, queue, payload, status, max_attempts)
       values ('elsewhere', 'mail', (repeat('[', ${levels}) || repeat(']', ${levels}))::json, 'queued', 1) returning id`,
    );
    await test.sql(
      `alter domain tock.payload add constraint payload_nested_at_most_200_levels
       check (pg_column_size(value #> '{}') < 1600 or not jsonb_path_exists(value, 'strict $.**{201}')) not valid`,
    );
    const { id: bad = '' } = row ?? {};
    const good = await enqueue(3);
    await open();
    const consumer = await echo(broker, ['mail']);
    await ended(good);
    await ended([bad], 'dead');
    await consumer.stop();
    expect((await test.tock.runs.get(bad))?.errors[0]).toMatchObject({ code: 'TOCK_UNPUBLISHED' });
    expect(broker.taken.map(({ run }) => run)).not.toContain(bad);
    expect(events('relay.broker_away')).toEqual([]);
  });
});

describe('relays of the same queue', () => {
  it('share it: each run is published once and completed once', async () => {
    const first = await open();
    await open({ tock: test.another() });
    const ids = await enqueue(500);
    const consumer = await echo(broker, ['mail']);
    await ended(ids);
    await consumer.stop();
    expect(new Set(broker.ids).size).toBe(broker.ids.length);
    expect(broker.taken).toHaveLength(500);
    expect(await figuresOf(first)).toMatchObject({ handedOff: 500, completed: 500 });
  });

  it('take over from one that is stopped in the middle: nothing is lost', async () => {
    const { opened, open: release } = gate();
    broker.held = opened;
    const first = await open({ concurrency: 50 });
    const ids = await enqueue(300);
    await until(() => Promise.resolve(broker.calls.length > 0), 'a batch under way');
    const stopping = first.stop();
    release();
    broker.held = null;
    await stopping;
    const consumer = await echo(broker, ['mail']);
    const second = await open();
    await ended(ids);
    await consumer.stop();
    expect(new Set(broker.ids).size).toBe(broker.ids.length);
    expect(await test.sql('select from tock.job_runs where attempts <> 1')).toEqual([]);
    expect(await figuresOf(second)).toMatchObject({ handedOff: 300, completed: 300 });
  });
});

describe('createRelay', () => {
  it.each([
    [{ queues: [] }, /name the queues to hand off/],
    [{ queues: ['a b'] }, /"a b"/],
    [{ broker: {} as MemoryBroker }, /broker has no method publish/],
    [{ lease: '1ms' }, /not between 1 second and 366 days/],
    [{ maxOutstanding: 0 }, /maxOutstanding 0 is not a whole number/],
    [{ concurrency: 0 }, /concurrency 0/],
    [{ tock: {} as RelayOptions['tock'] }, /make it with createTock/],
    [{ outstanding: 7 }, /createRelay has no option "outstanding".*maxOutstanding/],
  ])('refuses %o', async (options, message) => {
    await expect(
      createRelay({ tock: test.tock, queues: ['mail'], broker, ...(options as object) }),
    ).rejects.toThrow(message);
  });

  it('refuses a queue that is relayed to another broker, and says what to do', async () => {
    await test.tock.queues.set('mail', { relay: 'nats' });
    await expect(createRelay({ tock: test.tock, queues: ['mail'], broker })).rejects.toThrow(
      'queue mail is relayed to nats, not to memory; to change that, stop its relay and run: tock queue set mail --relay memory',
    );
  });

  it('sets where the queue is relayed to, once, with a row in the audit', async () => {
    const relay = await createRelay({ tock: test.tock, queues: ['mail', 'mail'], broker });
    await relay.stop();
    relays.push(await createRelay({ tock: test.tock, queues: ['mail'], broker }));
    expect(await test.tock.queues.list()).toMatchObject([{ name: 'mail', relayedTo: 'memory' }]);
    expect(await test.tock.audit.list({ action: 'queues.set' })).toMatchObject([
      { targets: ['mail'], details: { changes: { relay: { from: null, to: 'memory' } } } },
    ]);
    expect(await test.sql('select kind, queues from tock.workers')).toEqual([
      { kind: 'relay', queues: ['mail'] },
    ]);
  });

  it('is stopped with its Tock', async () => {
    const tock = test.another();
    await createRelay({ tock, queues: ['mail'], broker });
    await tock.close();
    expect(await test.sql('select from tock.workers')).toEqual([]);
  });
});
