// A relayed queue while broker nodes, consumers, relays and PostgreSQL are killed at random: each run is completed once.
// TOCK_CHAOS_SEED repeats the order of the kills; TOCK_RELAY_RUNS makes it longer.
import { afterEach, describe, expect, it } from 'vitest';
import { createTock } from '../../src/index.js';
import { type OwnServer, openOwnServer } from '../chaos/servers.js';
import { random } from '../model/schedule/random.js';
import { type BrokerServers, keepRunning } from '../support/killable-process.js';
import { hasNoNats, startNats } from '../support/nats-server.js';
import type { Running } from '../support/processes.js';
import { hasNoRabbitmq, startRabbitmq } from '../support/rabbitmq-server.js';
import { sqlAt } from '../support/sql-at.js';
import { until } from '../support/until.js';
import { openFixture } from './relay-fixture.js';

const seed = Number(process.env['TOCK_CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = Number(process.env['TOCK_RELAY_RUNS'] ?? 1500);
const ROUNDS = 8;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const keep = (start: () => Running) =>
  keepRunning(() => {
    const { child, ended, output } = start();
    const kill = async () => {
      child.kill('SIGKILL');
      await ended;
    };
    return { output, kill };
  }, closing);

const BROKERS: readonly [string, () => boolean, () => Promise<BrokerServers>][] = [
  ['RabbitMQ', hasNoRabbitmq, async () => await startRabbitmq(3)],
  ['NATS JetStream', hasNoNats, async () => await startNats(3)],
];

describe.each(BROKERS)('%s', (_name, isMissing, startBroker) => {
  it.skipIf(isMissing())(
    `completes each of ${RUNS} runs once, whoever is killed (TOCK_CHAOS_SEED=${seed})`,
    async () => {
      const { below, pick } = random(seed);
      const servers = await startBroker();
      closing.push(() => servers.remove());
      const database: OwnServer = await openOwnServer();
      closing.push(() => database.remove());
      const { url } = database;
      const tock = createTock({ connectionString: url, logger: false });
      closing.push(() => tock.close());
      await tock.migrate();
      const fixture = await openFixture(url, servers.urls);
      const relays = [keep(fixture.startRelay), keep(fixture.startRelay)];
      const consumers = [1, 2, 3].map(() => keep(fixture.startConsumer));

      const enqueue = async (from: number, count: number) =>
        await sqlAt(
          url,
          `select tock.enqueue('count', jsonb_build_object('n', n), queue => 'work', max_attempts => 1000)
             from generate_series($1::int, $2::int) n`,
          [from, from + count - 1],
        );
      const countOf = async (text: string) =>
        await sqlAt<{ count: number }>(url, text).then(
          ([row]) => row?.count ?? 0,
          // It is being killed.
          () => null,
        );
      const ended = async () =>
        await countOf(`select count(*)::int as count from tock.job_runs where status = 'succeeded'`);
      const kills: Readonly<Record<string, () => Promise<void>>> = {
        consumer: async () => await pick(consumers).killAndStart(),
        relay: async () => await pick(relays).killAndStart(),
        broker: async () => {
          const node = pick(servers.nodes);
          await node.kill();
          await node.start();
        },
        database: async () => {
          await database.kill();
          await database.start();
        },
      };

      // The streams and queues are there, and have been for a while, before anything is killed.
      const share = Math.floor(RUNS / (ROUNDS + 1));
      await enqueue(1, share);
      await until(async () => ((await ended()) ?? 0) >= share / 2, 'the first runs', 120_000);
      const order = ['consumer', 'relay', 'broker', 'database'];
      for (let round = 1; round <= ROUNDS; round++) {
        const first = round * share + 1;
        await enqueue(first, round === ROUNDS ? RUNS - first + 1 : share);
        const before = (await ended()) ?? 0;
        await until(async () => ((await ended()) ?? 0) > before, 'a run to end', 120_000);
        // Each of them twice, in an order by chance.
        if (order.length === 0) order.push('consumer', 'relay', 'broker', 'database');
        const [victim = ''] = order.splice(below(order.length), 1);
        await kills[victim]?.();
      }

      await until(
        async () => {
          await tock.tick().catch(() => undefined);
          return (await ended()) === RUNS;
        },
        'all runs to end',
        300_000,
      ).catch(async error => {
        console.log(await sqlAt(url, 'select status, count(*)::int from tock.job_runs group by 1'));
        console.log(relays.map(relay => relay.output().slice(-2000)).join('\n---\n'));
        throw error;
      });

      const [completed] = await sqlAt(
        url,
        `select count(*)::int as runs, count(distinct r.output ->> 'n')::int as outputs,
                max(d.times)::int as most, min(d.times)::int as least
           from tock.job_runs r
           join (select run_id, count(*) filter (where decision = 'succeeded' and written_at is not null) as times
                   from tock.job_hand_offs group by run_id) d on d.run_id = r.id
          where r.status = 'succeeded'`,
      );
      expect(completed).toEqual({ runs: RUNS, outputs: RUNS, most: 1, least: 1 });
      const [history] = await sqlAt(
        url,
        'select count(*)::int as rows, count(distinct id)::int as ids from tock.job_runs',
      );
      expect(history).toEqual({ rows: RUNS, ids: RUNS });

      const { handOffs } = await tock.status();
      const [work] = handOffs.filter(each => each.queue === 'work');
      if (!work) throw new Error('there are no figures of the queue');
      expect(work.waiting).toBe(0);
      expect(work.completed).toBe(RUNS);
      expect(work.handedOff).toBe(work.completed + work.failed + work.leaseEnded + work.waiting);
      expect(work.refused).toBeGreaterThan(0);
      console.log(`${_name}: ${JSON.stringify(work)}`);
    },
    900_000,
  );
});
