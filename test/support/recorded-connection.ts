// Room: test support. A TCP proxy in front of the database that writes down what its clients ask.
// In: a database URL. Out: the same URL through the proxy; how many connections there were, and each statement sent.
import { createConnection, createServer, type Socket } from 'node:net';

export interface Recorder {
  readonly url: string;
  readonly connections: () => number;
  /** Each statement in its order: its text, or the name of one that was prepared before. */
  readonly statements: () => readonly string[];
  close(): Promise<void>;
}

/** Opens a recorder on 127.0.0.1. */
export async function openRecorder(databaseUrl: string): Promise<Recorder> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const statements: string[] = [];
  let connections = 0;
  const listener = createServer(client => {
    connections++;
    const server = createConnection({ host: target.hostname, port: Number(target.port) });
    const read = messageReader((type, body) => {
      if (type === 'Q') statements.push(textAt(body, 0));
      // Bind names the portal, then the statement; one without a name was parsed just before.
      if (type === 'P' && body[0] === 0) statements.push(textAt(body, 1));
      const name = type === 'B' ? textAt(body, textAt(body, 0).length + 1) : '';
      if (name !== '') statements.push(name);
    });
    client.on('data', read);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.pipe(other);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  const address = listener.address();
  url.host = `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  return {
    url: url.href,
    connections: () => connections,
    statements: () => [...statements],
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>(resolve => listener.close(() => resolve()));
    },
  };
}

/** Splits what a client sends into messages. The first, which opens the session, has no type. */
function messageReader(take: (type: string, body: Buffer) => void): (chunk: Buffer) => void {
  let left: Buffer = Buffer.alloc(0);
  let isOpen = false;
  return chunk => {
    left = Buffer.concat([left, chunk]);
    for (;;) {
      const head = isOpen ? 1 : 0;
      if (left.length < head + 4) return;
      const size = head + left.readUInt32BE(head);
      if (left.length < size) return;
      if (isOpen) take(String.fromCharCode(left[0] ?? 0), left.subarray(5, size));
      isOpen = true;
      left = left.subarray(size);
    }
  };
}

function textAt(body: Buffer, from: number): string {
  return body.toString('utf8', from, body.indexOf(0, from));
}
