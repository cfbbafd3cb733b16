// A server of its own for the dashboard: `tock dashboard`, and beside the worker of `tock start`.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TockError } from '../../model/errors.js';
import type { Tock } from '../../tock/types.js';
import type { Access } from '../access/access.js';
import { withBase } from '../access/base-path.js';
import { withMetricsToken } from '../access/metrics-token.js';
import type { NamedTock } from '../databases/read-overview.js';
import { type Dashboard, openDashboard } from '../open-dashboard.js';
import { hostAndPort } from './hosts.js';
import { requireSafeAddress, serverAccess } from './server-access.js';
import type { KeptSessions } from './sessions.js';
import type { DashboardSettings } from './settings.js';

/** The letters of "tock" on a telephone. */
const DEFAULT_PORT = 8625;
/** How many ports are tried after the default one. */
const MORE_PORTS = 20;

/** A request's head and body must have arrived by then. */
const HEAD_MS = 10_000;
const REQUEST_MS = 20_000;
const MAX_CONNECTIONS = 500;

/** With it the next process goes on for the same browsers: at the same address, with their sessions. */
export interface KeptDashboard {
  readonly port: number;
  /** Absent where passwords or a proxy let people in. */
  readonly sessions?: KeptSessions;
}

export interface ServeOptions {
  /** One Tock, or several by name: then there is a page of all, and each below `/db/<name>`. */
  readonly tock: Tock | readonly NamedTock[];
  readonly host: string;
  /** Null: {@link DEFAULT_PORT}, or the next one that is free. 0: any. */
  readonly port: number | null;
  readonly settings: DashboardSettings;
  /** Called with each one-time link: the first at the start, the next whenever one was used. */
  readonly onLink: (url: string) => void;
  /** From the process before, whose port is taken again. */
  readonly kept?: KeptDashboard | undefined;
  /** Called whenever there is something else to be kept. */
  readonly onKept?: ((kept: KeptDashboard) => void) | undefined;
}

export interface ServedDashboard {
  /** `http://127.0.0.1:8625/`, with the base path */
  readonly url: string;
  readonly close: () => Promise<void>;
}

/**
 * Listens, and serves the dashboard.
 * @throws TockError TOCK_BAD_OPTION for an address that is taken, or that others could reach unasked
 */
export async function serveDashboard(options: ServeOptions): Promise<ServedDashboard> {
  const { tock, host, settings, onLink, kept, onKept } = options;
  requireSafeAddress(host, settings);
  const server = createServer({ headersTimeout: HEAD_MS, requestTimeout: REQUEST_MS });
  server.maxConnections = MAX_CONNECTIONS;
  const port = await listen(server, host, kept?.port ?? options.port);
  onKept?.({ port });
  const { basePath } = settings;
  const url = `http://${hostAndPort(host, port)}${basePath}/`;
  const access = serverAccess({
    host,
    port,
    settings,
    onLink: token => onLink(`${url}sign-in?token=${token}`),
    kept: kept?.sessions,
    onKept: sessions => onKept?.({ port, sessions }),
  });
  const dashboard = await open(tock, access, settings);
  server.on('request', (request, response) => {
    request.url = withBase(request.url ?? '/', basePath);
    // In the process of a worker, an error that nobody handles would end its runs.
    dashboard.listener(request, response).catch(() => response.destroy());
  });
  return {
    url,
    close: async () => {
      const closed = new Promise(resolve => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await dashboard.close();
    },
  };
}

async function open(
  tock: ServeOptions['tock'],
  access: Access,
  { readUrl, metricsToken, basePath }: DashboardSettings,
): Promise<Dashboard> {
  if ('tick' in tock)
    return openDashboard({
      tock,
      basePath,
      readConnectionString: readUrl,
      access: withMetricsToken(access, metricsToken, basePath),
    });
  // Loaded late: few have several databases.
  const { openDatabases } = await import('../databases/open-databases.js');
  return openDatabases({ databases: tock, access, basePath, metricsToken });
}

async function listen(server: Server, host: string, wanted: number | null): Promise<number> {
  const first = wanted ?? DEFAULT_PORT;
  const last = wanted === null ? first + MORE_PORTS : first;
  for (let port = first; ; port++) {
    try {
      return await listenOn(server, host, port);
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      if (code === 'EADDRINUSE' && port < last) continue;
      throw new TockError('TOCK_BAD_OPTION', whyNot(code, host, port, wanted), { cause: error });
    }
  }
}

function whyNot(code: unknown, host: string, port: number, wanted: number | null): string {
  const address = hostAndPort(host, port);
  if (code === 'EADDRINUSE')
    return wanted === null
      ? `the ports ${DEFAULT_PORT} to ${port} of ${host} are taken: choose another with --port`
      : `another program listens on ${address}: choose another port with --port`;
  if (code === 'EACCES')
    return `this user may not listen on ${address}: choose a port above 1023 with --port`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `${host} is no address of this machine: see --host`;
  return `cannot listen on ${address} (${String(code)})`;
}

async function listenOn(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}
