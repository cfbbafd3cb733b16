// Room: shell. A cap on the ticks of a host that wait for the database: cron starts one a minute, whatever became of
// those before.
// In: how many, and which database. Out: a place, or none. A place dies with its holder: it is an address in Linux's
// abstract namespace of sockets, which leaves no file behind. On other systems there is no cap.
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:net';

export interface TickPlace {
  /** Gives the place back; once more changes nothing. */
  readonly give: () => void;
}

/**
 * Takes one of `most` places. Null: all are taken.
 *
 * @param identity what the ticks have in common: the database and the schema. Only a hash of it is visible
 */
export async function takeTickPlace(most: number, identity: string): Promise<TickPlace | null> {
  if (process.platform !== 'linux') return { give: () => undefined };
  const name = createHash('sha256').update(identity).digest('hex').slice(0, 24);
  for (let place = 1; place <= most; place++) {
    const server = await listen(`\0tock-tick-${name}-${place}`);
    if (server) return { give: () => void server.close() };
  }
  return null;
}

function listen(address: string): Promise<Server | null> {
  return new Promise((resolve, reject) => {
    const server = createServer(socket => socket.destroy());
    server.unref();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null);
      else reject(error);
    });
    server.listen(address, () => resolve(server));
  });
}
