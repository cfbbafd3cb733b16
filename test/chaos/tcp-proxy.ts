// A TCP proxy that stands for the network, or for the address of a primary.
// In: a database URL. Out: the same URL through the proxy, and faults: swallow, heal, lose a reply, cut, lead elsewhere.
import { createConnection, createServer, type Socket } from 'node:net';

export type TcpProxy = Awaited<ReturnType<typeof openProxy>>;

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  isDead: boolean;
  /** A reply is awaited that must not arrive. */
  losing: Wish | null;
  /** Names of prepared statements, and what they say. */
  readonly prepared: Map<string, string>;
}

/** A reply that is to be lost. */
interface Wish {
  readonly text: string | null;
  /** Which end of a reply counts: of the whole transaction, or of a statement in it. */
  readonly ends: readonly Buffer[];
  readonly done: () => void;
}

// ReadyForQuery: 'Z', length 5, and whether a transaction is open. Before it the statement may still be under way.
const readyWhen = (...states: string[]) =>
  states.map(state => Buffer.from([0x5a, 0, 0, 0, 5, state.charCodeAt(0)]));
const IDLE = readyWhen('I');
const READY = readyWhen('I', 'T', 'E');
/** The names that Tock gives to statements that it prepares. */
const STATEMENT_NAME = /tock_[0-9a-f]{24}$/;

/** The statements that these bytes prepare: in the message Parse the text follows the name. */
function preparedIn(bytes: Buffer): [name: string, statement: string][] {
  const parts = bytes.toString('latin1').split('\0');
  return parts.flatMap((part, index): [string, string][] => {
    const name = STATEMENT_NAME.exec(part)?.[0];
    const statement = parts[index + 1] ?? '';
    return name !== undefined && statement.includes(' ') ? [[name, statement]] : [];
  });
}

/** Whether these bytes carry the text, or name a statement that does. */
function holds({ prepared }: Pair, bytes: Buffer, text: string | null): boolean {
  if (text === null || bytes.includes(text)) return true;
  return [...prepared].some(([name, statement]) => statement.includes(text) && bytes.includes(name));
}

/** Opens a proxy on 127.0.0.1 in front of the server that the URL names. */
export async function openProxy(databaseUrl: string) {
  let target = new URL(databaseUrl);
  const pairs = new Set<Pair>();
  let opened = 0;
  let isSwallowing = false;
  let swallowsAt: string | null = null;
  let wanted: Wish | null = null;

  const cut = (pair: Pair) => {
    pair.client.destroy();
    pair.server.destroy();
    pairs.delete(pair);
    pair.losing?.done();
  };
  const swallow = () => {
    isSwallowing = true;
    swallowsAt = null;
    for (const pair of pairs) pair.isDead = true;
  };
  const listener = createServer(client => {
    opened++;
    const server = createConnection({ host: target.hostname, port: Number(target.port) });
    const pair: Pair = { client, server, isDead: isSwallowing, losing: null, prepared: new Map() };
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
      for (const [name, statement] of preparedIn(bytes)) pair.prepared.set(name, statement);
      if (wanted !== null && holds(pair, bytes, wanted.text)) {
        pair.losing = wanted;
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
      if (pair.losing.ends.some(end => bytes.includes(end))) cut(pair);
    });
  });
  await new Promise<void>(resolve => void listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  const through = new URL(databaseUrl);
  through.hostname = '127.0.0.1';
  through.port = String(typeof address === 'object' ? address?.port : '');

  return {
    /** The database's URL, through this proxy. */
    url: through.href,
    /** How many connections have been opened through it. */
    opened: () => opened,
    /** From now on every byte of every connection is swallowed, in both directions, and nobody is told. */
    swallow,
    /** The same, from the moment on at which a client sends `text`, which is swallowed too. */
    swallowAt(text: string) {
      swallowsAt = text;
    },
    /** New connections work again. Those that were swallowed stay dead, and still nobody is told. */
    heal() {
      isSwallowing = false;
    },
    /**
     * The next time a client sends `text`, it is passed on; what the server answers is dropped, and the connection
     * is cut. Resolves when that has happened: the server has carried it out, and the client does not know.
     */
    loseReplyTo: (text: string) =>
      new Promise<void>(done => {
        wanted = { text, ends: IDLE, done };
      }),
    /**
     * The same with the first complete reply to a statement whose text holds `text`, also inside a transaction and when the
     * statement was prepared before; null: to whatever a client sends next. Replaces an earlier wish.
     */
    loseNextReply: (text: string | null) =>
      new Promise<void>(done => {
        wanted = { text, ends: READY, done };
      }),
    /** Cuts every open connection for which `isCut` is true. Returns how many. */
    cut(isCut: () => boolean) {
      const chosen = [...pairs].filter(isCut);
      for (const pair of chosen) cut(pair);
      return chosen.length;
    },
    /** Cuts what is open, and leads new connections to another server. */
    leadTo(databaseUrl: string) {
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
