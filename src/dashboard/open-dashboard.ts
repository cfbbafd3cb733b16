// The dashboard of a Tock behind any door: for createDashboard, and for the server of its own.

import { openReadSession, type ReadSession } from '../answers/reads.js';
import type { CurrentUrl } from '../model/database/current-url.js';
import { databaseOf } from '../tock/database-of.js';
import type { Tock } from '../tock/types.js';
import type { Access } from './access/access.js';
import { createApp } from './app.js';
import { countStreams } from './live/text-stream.js';
import { type NodeListener, nodeListener } from './node-listener.js';
import type { Among } from './view.js';

export interface OpenDashboardOptions {
  readonly tock: Tock;
  readonly access: Access;
  /** Without a slash at its end; empty at the root. */
  readonly basePath: string;
  readonly readConnectionString: CurrentUrl | null;
  /** Its place among several databases. Default: it is the only one. */
  readonly among?: Among;
}

/** The dashboard of a Tock. */
export interface Dashboard {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly listener: NodeListener;
  /**
   * Ends the streams that open pages follow, and the connections to the replica, if there are any. Call it
   * before the server's own `close`, which waits for the streams. The Tock stays open.
   */
  close(): Promise<void>;
}

/** Connects with the first request. */
export function openDashboard(options: OpenDashboardOptions): Dashboard {
  const { tock, readConnectionString } = options;
  let opening: Promise<ReadSession> | null = null;
  const open = async () =>
    openReadSession(await databaseOf(tock), { connectionString: readConnectionString ?? undefined });
  const streams = countStreams();
  const app = createApp({
    ...options,
    streams,
    among: options.among ?? null,
    reads: async () => {
      opening ??= open();
      try {
        return await opening;
      } catch (error) {
        opening = null;
        throw error;
      }
    },
  });
  const fetch = async (request: Request) => await app.fetch(request);
  return {
    fetch,
    listener: nodeListener(fetch),
    close: async () => {
      streams.close();
      await (await opening?.catch(() => null))?.close();
    },
  };
}
