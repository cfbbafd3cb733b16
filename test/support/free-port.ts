// Room: test support. A port for a program that takes nothing but a number.
// In: nothing. Out: a port on which nothing listens, and that no connection is given meanwhile.
import { createServer } from 'node:net';

/** Below those that a system gives to whoever connects. */
const [FIRST, COUNT] = [10_000, 20_000];
let asked = Math.floor(Math.random() * COUNT);

/** A port that is free now, and another one each time. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + (asked++ % COUNT);
    const server = createServer();
    const isFree = await new Promise<boolean>(resolve => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise(resolve => server.close(resolve));
    return port;
  }
}
