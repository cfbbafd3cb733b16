// Room: test support of the jobs. Who was called while a test ran.
// In: nothing. Out: the remote address of every connection that node:net opens from now on.
import diagnostics from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

export interface Connections {
  readonly addresses: readonly string[];
  stop(): void;
}

export function watchConnections(): Connections {
  const addresses: string[] = [];
  const listen = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    socket.once('connect', () => addresses.push(socket.remoteAddress ?? 'unknown'));
    socket.once('lookup', (_error, _address, _family, host) => addresses.push(host));
  };
  diagnostics.subscribe('net.client.socket', listen);
  return { addresses, stop: () => void diagnostics.unsubscribe('net.client.socket', listen) };
}
