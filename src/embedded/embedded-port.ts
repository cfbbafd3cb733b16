// Ports for the embedded server. Another program may take a free port before PostgreSQL does.
import { once } from 'node:events';
import { createServer } from 'node:net';

export async function isFree(port: number): Promise<boolean> {
  return listenOnce(port).then(
    () => true,
    () => false,
  );
}

export async function freePort(): Promise<number> {
  return listenOnce(0);
}

async function listenOnce(port: number): Promise<number> {
  const server = createServer().listen({ host: '127.0.0.1', port, exclusive: true });
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port on 127.0.0.1');
  return address.port;
}
