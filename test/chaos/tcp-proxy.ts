// Room: test support of the faults. A TCP proxy that stands for the network, or for the address of a primary.
// In: a database URL. Out: the same URL through the proxy, and faults: swallow, heal, lose a reply, lead elsewhere.
import { createConnection, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  /** The database's URL, through this proxy. */
  readonly url: string;
  /** How many connections have been opened through it. */
  readonly opened: () => number;
  /** From now on every byte of every connection is swallowed, in both directions, and nobody is told. */
  swallow(): void;
  /** The same, from the moment on at which a client sends `text`, which is swallowed too. */
  swallowAt(text: string): void;
  /** New connections work again. Those that were swallowed stay dead, and still nobody is told. */
  heal(): void;
  /**
   * The next time a client sends `text`, it is passed on; what the server answers is dropped, and the connection
   * is cut. Resolves when that has happened: the server has carried it out, and the client does not know.
   */
  loseReplyTo(text: string): Promise<void>;
  /** Cuts what is open, and leads new connections to another server. */
  leadTo(databaseUrl: string): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  isDead: boolean;
  /** A reply is awaited that must not arrive. */
  losing: (() => void) | null;
}

/** Opens a proxy on 127.0.0.1 in front of the server that the URL names. */
export async function openProxy(databaseUrl: string): Promise<TcpProxy> {
  let target = new URL(databaseUrl);
  const pairs = new Set<Pair>();
  let opened = 0;
  let isSwallowing = false;
  let swallowsAt: string | null = null;
  let wanted: { readonly text: string; readonly done: () => void } | null = null;

  const cut = (pair: Pair) => {
    pair.client.destroy();
    pair.server.destroy();
    pairs.delete(pair);
  };
  const swallow = () => {
    isSwallowing = true;
    swallowsAt = null;
    for (const pair of pairs) pair.isDead = true;
  };
  const listener = createServer(client => {
    opened++;
    const server = createConnection({ host: target.hostname, port: Number(target.port) });
    const pair: Pair = { client, server, isDead: isSwallowing, losing: null };
    pairs.add(pair);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        // Of a dead pair the other end hears nothing.
        if (!pair.isDead) cut(pair);
      });
    }
    client.on('data', bytes => {
      if (swallowsAt !== null && bytes.includes(swallowsAt)) swallow();
      if (pair.isDead) return;
      if (wanted !== null && bytes.includes(wanted.text)) {
        pair.losing = wanted.done;
        wanted = null;
      }
      server.write(bytes);
    });
    server.on('data', bytes => {
      if (pair.isDead) return;
      if (pair.losing === null) {
        client.write(bytes);
        return;
      }
      // ReadyForQuery, idle: 'Z', length 5, 'I'. Before it the statement may still be under way.
      if (!bytes.includes(Buffer.from([0x5a, 0, 0, 0, 5, 0x49]))) return;
      pair.losing();
      cut(pair);
    });
  });
  await new Promise<void>(resolve => void listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  const through = new URL(databaseUrl);
  through.hostname = '127.0.0.1';
  through.port = String(typeof address === 'object' ? address?.port : '');

  return {
    url: through.href,
    opened: () => opened,
    swallow,
    swallowAt(text) {
      swallowsAt = text;
    },
    heal() {
      isSwallowing = false;
    },
    loseReplyTo: text =>
      new Promise(done => {
        wanted = { text, done };
      }),
    leadTo(databaseUrl) {
      target = new URL(databaseUrl);
      for (const pair of pairs) cut(pair);
    },
    async close() {
      for (const pair of pairs) cut(pair);
      await new Promise(resolve => {
        listener.close(resolve);
      });
    },
  };
}
