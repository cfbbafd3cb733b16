// Adapters: Neon's driver. Its `Pool` over a WebSocket needs no adapter; its `neon()` sends a statement by
// HTTP. Both reach the tests' PostgreSQL through gateways that are here.
import { once } from 'node:events';
import { createServer } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { fromNeon, type NeonLike } from '../../src/adapters.js';
import { defineJob } from '../../src/index.js';
import { lacksDrivers, loadDriver } from '../support/drivers.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { describeAdapter } from './adapter-contract.js';

interface Neon {
  readonly Pool: typeof pg.Pool;
  readonly neon: (url: string) => NeonLike;
  readonly neonConfig: Record<string, unknown>;
}
interface Socket {
  on(event: 'message' | 'close', heard: (data: Buffer) => void): void;
  send(data: Buffer): void;
  close(): void;
}
interface WebSockets {
  readonly WebSocketServer: new (
    options: object,
  ) => { on(event: 'connection', heard: (socket: Socket) => void): void };
  readonly WebSocket: unknown;
}

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

/** Bytes of WebSockets, to and from the server of `url`. Resolves to where it listens. */
async function openGateway({ WebSocketServer }: WebSockets, url: string): Promise<string> {
  const http = createServer().listen(0, '127.0.0.1');
  await once(http, 'listening');
  new WebSocketServer({ server: http }).on('connection', socket => {
    const { hostname, port } = new URL(url);
    const server = net.connect(Number(port), hostname);
    server.on('data', data => socket.send(data)).on('close', () => socket.close());
    server.on('error', () => socket.close());
    socket.on('message', data => server.write(data));
    socket.on('close', () => server.destroy());
  });
  closing.push(() => http.close());
  return `127.0.0.1:${(http.address() as AddressInfo).port}/`;
}

describe.skipIf(lacksDrivers())('Neon', () => {
  describeAdapter('a client of Neon’s Pool', async url => {
    const { Pool, neonConfig } = await loadDriver<Neon>('@neondatabase/serverless');
    const sockets = await loadDriver<WebSockets>('ws');
    const gateway = await openGateway(sockets, url);
    Object.assign(neonConfig, {
      webSocketConstructor: sockets.WebSocket,
      wsProxy: () => gateway,
      useSecureWebSocket: false,
      pipelineConnect: false,
    });
    const pool = new Pool({ connectionString: url, max: 4 });
    pool.on('error', () => undefined);
    const outside = await pool.connect();
    return {
      transact: async work => {
        const client = await pool.connect();
        try {
          await client.query('begin');
          const result = await work(client, async (id, note) => {
            await client.query('insert into invoices (id, note) values ($1, $2)', [id, note]);
          });
          await client.query('commit');
          return result;
        } catch (error) {
          await client.query('rollback');
          throw error;
        } finally {
          client.release();
        }
      },
      outside,
      async close() {
        outside.release();
        await pool.end();
      },
    };
  });

  describe('fromNeon', () => {
    const echo = defineJob({ name: 'echo', run: (_ctx, payload) => ({ payload: payload as never }) });
    const test = openOnce(() => reuseTestTock([echo]));

    /** What Neon answers to a statement by HTTP, from the tests' server. */
    const answer = async (_url: string, { body }: { body: string }) => {
      const { query, params } = JSON.parse(body) as { query: string; params: unknown[] };
      const client = new pg.Client({ connectionString: test.url });
      await client.connect();
      try {
        const asText = { getTypeParser: () => (value: string) => value };
        const { fields, rows, command, rowCount } = await client.query({
          text: query,
          values: params,
          rowMode: 'array',
          types: asText,
        });
        return Response.json({ fields, rows, command, rowCount, rowAsArray: true });
      } catch (error) {
        const { message, code } = error as pg.DatabaseError;
        return Response.json({ message, code }, { status: 400 });
      } finally {
        await client.end();
      }
    };
    const connect = async () => {
      const { neon, neonConfig } = await loadDriver<Neon>('@neondatabase/serverless');
      neonConfig['fetchFunction'] = answer;
      return fromNeon(neon('postgres://app:secret@ep-1.example/app'));
    };

    it('enqueues with a statement by HTTP, whose run is executed', async () => {
      const client = await connect();
      const payload = { text: `'' "" \\ $1 ? 日本語`, list: [1, null, { a: true }] };
      const id = await test.tock.enqueue(echo, payload, { client, key: 'invoice:1' });
      expect(await test.tock.enqueue(echo, 'again', { client, key: 'invoice:1' })).toBe(id);
      const plain = await test.tock.enqueue(echo, payload, { client });
      await test.tock.tick();
      for (const each of [id, plain])
        expect(await test.tock.runs.get(each)).toMatchObject({ status: 'succeeded', output: { payload } });
    });

    it('refuses a schedule, which needs a transaction', async () => {
      const client = await connect();
      const made = test.tock.schedules.upsert({ name: 'a', job: echo, every: '1h' }, { client });
      await expect(made).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
    });
  });
});

it('refuses what neon() did not return, and says what to pass', () => {
  expect(() => fromNeon({} as never)).toThrow(
    'fromNeon was given something without query(): pass the sql of neon(url)',
  );
});
