// createDashboard: the pages as one handler for Requests, and one for Node's requests.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { TockError } from '../model/errors.js';
import { ROLES, type Role } from '../model/operator.js';
import { openReadSession, type ReadSession } from '../store/connection/read-only.js';
import { databaseOf } from '../tock/database-of.js';
import type { Tock } from '../tock/types.js';
import { createApp } from './app.js';

/** Who looks at the pages, and what they may do. */
export interface Authorized {
  /** The name in the audit. */
  readonly user: string;
  readonly role: Role;
  /** Whether payloads, outputs and logs are shown to them. Default false. */
  readonly seesPayloads?: boolean;
}

/** What {@link createDashboard} takes. */
export interface DashboardOptions {
  readonly tock: Tock;
  /**
   * Who makes a request; null: nobody who may look. Called for every request but those for `/healthz` and
   * for the style sheet and script, which tell nothing.
   */
  readonly authorize: (request: Request) => Authorized | null | Promise<Authorized | null>;
  /** Where the pages are mounted, such as `/admin/tock`. Default: the root. */
  readonly basePath?: string;
  /** URL of a replica that all reads go to. Default: the Tock's own database. */
  readonly readConnectionString?: string;
}

/** A listener for `http.createServer`, Express, Fastify or Nest. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** The dashboard of a Tock. */
export interface Dashboard {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly listener: NodeListener;
  /** Ends the connections to the replica, if there are any. The Tock stays open. */
  close(): Promise<void>;
}

/**
 * Makes the dashboard of a Tock: pages, and forms that act. Connects with the first request.
 * @throws TockError TOCK_BAD_OPTION
 */
export function createDashboard(options: DashboardOptions): Dashboard {
  const { tock, authorize, readConnectionString } = options;
  const basePath = checkBasePath(options.basePath ?? '');
  let opening: Promise<ReadSession> | null = null;
  const reads = () => {
    opening ??= databaseOf(tock).then(database =>
      openReadSession(database, { connectionString: readConnectionString }),
    );
    return opening;
  };
  const app = createApp({
    tock,
    reads,
    basePath,
    authorize: async request => {
      const answer = await authorize(request);
      if (answer === null || answer === undefined || !ROLES.includes(answer.role)) return null;
      const { user, role, seesPayloads = false } = answer;
      return { name: user, via: 'page', role, seesPayloads: seesPayloads === true };
    },
  });
  const fetch = async (request: Request) => await app.fetch(request);
  return {
    fetch,
    listener: getRequestListener(fetch),
    close: async () => {
      await (await opening?.catch(() => null))?.close();
    },
  };
}

function checkBasePath(text: string): string {
  const path = text.replace(/\/$/, '');
  if (path === '' || /^(?:\/[\w.~-]+)+$/.test(path)) return path;
  throw new TockError('TOCK_BAD_OPTION', `basePath "${text}" is not a path such as /admin/tock`);
}
