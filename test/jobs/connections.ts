// Who was called while a test ran.
// In: the database's URL, which is called all the time. Out: the remote address, or the name that was looked up, of
// every other connection that node:net opens from now on.
import diagnostics from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

export interface Connections {
  readonly addresses: readonly string[];
  stop(): void;
}

export function watchConnections(databaseUrl: string): Connections {
  const databasePort = Number(new URL(databaseUrl).port || 5432);
  const calls: { port: number | undefined; names: string[] }[] = [];
  const listen = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    const call = { port: undefined as number | undefined, names: [] as string[] };
    calls.push(call);
    socket.once('connect', () => {
      call.port = socket.remotePort;
      call.names.push(socket.remoteAddress ?? 'unknown');
    });
    socket.once('lookup', (_error, _address, _family, host) => call.names.push(host));
  };
  diagnostics.subscribe('net.client.socket', listen);
  return {
    get addresses() {
      return calls.filter(({ port }) => port !== databasePort).flatMap(({ names }) => names);
    },
    stop: () => void diagnostics.unsubscribe('net.client.socket', listen),
  };
}
