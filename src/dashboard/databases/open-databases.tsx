// The dashboards of several databases behind one door: a page of all at the root, each below /db/<name>.
import { Hono } from 'hono';
import { getCookie } from 'hono/cookie';
import { readMetrics } from '../../answers/figures/openmetrics.js';
import { type DatabaseMetrics, mergeMetrics } from '../../model/metrics/databases.js';
import { CONTENT_TYPES, formatFor, writeExposition } from '../../model/metrics/exposition.js';
import type { Operator } from '../../model/operator.js';
import { databaseOf } from '../../tock/database-of.js';
import type { Access } from '../access/access.js';
import { withMetricsToken } from '../access/metrics-token.js';
import { readerZone } from '../access/zone.js';
import { readAssets } from '../assets.js';
import { cached } from '../cached.js';
import { addSignIn, makeBare, openDoor, refuse } from '../door.js';
import { explainError } from '../explain-error.js';
import { makeLink, withoutBase } from '../links.js';
import { nodeListener } from '../node-listener.js';
import { type Dashboard, openDashboard } from '../open-dashboard.js';
import { OverviewPage, pathOf } from './overview-page.js';
import { createOverviewReader, type DatabaseView, type NamedTock } from './read-overview.js';

export interface OpenDatabasesOptions {
  readonly databases: readonly NamedTock[];
  readonly access: Access;
  /** Without a slash at its end; empty at the root. */
  readonly basePath: string;
  /** Opens `/metrics`, of all and of each. Null: `access` decides there too. */
  readonly metricsToken: string | null;
}

/** Connects with the first request. Nothing is read or done across two databases. */
export function openDatabases({
  databases,
  access,
  basePath,
  metricsToken,
}: OpenDatabasesOptions): Dashboard {
  const link = makeLink(basePath);
  const each = new Map(
    databases.map(({ name, tock }) => {
      const own = `${basePath}${pathOf(name)}`;
      const dashboard = openDashboard({
        tock,
        access: withMetricsToken(access, metricsToken, own),
        basePath: own,
        readConnectionString: null,
        among: { name, overview: link('/') },
      });
      return [name, dashboard] as const;
    }),
  );
  const reader = createOverviewReader(databases);
  const app = createOverview(
    { databases, access: withMetricsToken(access, metricsToken, basePath), basePath },
    reader.read,
  );
  const fetch = async (request: Request) => {
    const [, , name] = /^\/(db)\/([^/]+)/.exec(withoutBase(new URL(request.url).pathname, basePath)) ?? [];
    const dashboard = name === undefined ? undefined : each.get(name);
    return dashboard === undefined ? await app.fetch(request) : await dashboard.fetch(request);
  };
  return {
    fetch,
    listener: nodeListener(fetch),
    close: async () => {
      await Promise.all([
        reader.close(),
        ...[...each.values()].map(async dashboard => await dashboard.close()),
      ]);
    },
  };
}

type OverviewApp = Hono<{ Variables: { user: Operator } }>;

function createOverview(
  { databases, access, basePath }: Omit<OpenDatabasesOptions, 'metricsToken'>,
  read: () => Promise<readonly DatabaseView[]>,
): OverviewApp {
  const assets = readAssets();
  const link = makeLink(basePath);
  const bare = makeBare(link(assets.style.path));
  const app: OverviewApp = new Hono({
    getPath: request => withoutBase(new URL(request.url).pathname, basePath),
  });
  openDoor(app, { access, basePath, assets });
  // Without signing in, so it names no database.
  app.get('/healthz', async c => {
    const views = await read();
    const failing = views.filter(
      ({ figures }) => figures === null || figures.health.level === 'failing',
    ).length;
    return failing === 0 ? c.text('ok\n') : c.text(`failing ${failing} of ${views.length}\n`, 503);
  });
  addSignIn(app, access, link, bare);
  app.use(async (c, next) => {
    const user = await access.authorize(c.req.raw);
    if (user === null) return refuse(c, access, bare);
    c.set('user', user);
    return await next();
  });
  app.get('/', async c => {
    const { name, role } = c.get('user');
    return c.html(
      <OverviewPage
        databases={await read()}
        assets={{
          style: link(assets.style.path),
          script: link(assets.script.path),
          icon: link(assets.icon.path),
        }}
        link={link}
        zone={readerZone(getCookie(c, 'tock-zone'))}
        user={name}
        role={role}
      />,
    );
  });
  const readAll = cached(1000, async () => await Promise.all(databases.map(readOne)));
  app.get('/metrics', async c => {
    const format = formatFor(c.req.header('accept'));
    const text = writeExposition(mergeMetrics(await readAll(null)), format);
    return c.body(text, 200, { 'content-type': CONTENT_TYPES[format], vary: 'accept' });
  });
  app.notFound(c => bare(c, 404, 'There is no such page', `The databases are listed at ${link('/')}.`));
  app.onError((error, c) => {
    const { status, title, message } = explainError(error);
    return bare(c, status, title, message);
  });
  return app;
}

async function readOne({ name, tock }: NamedTock): Promise<DatabaseMetrics> {
  try {
    return { name, metrics: await readMetrics(await databaseOf(tock)) };
  } catch {
    // That it did not answer is what is published of it.
    return { name, metrics: null };
  }
}
