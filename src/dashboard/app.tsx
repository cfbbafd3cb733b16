// The pages behind one function from Request to Response: who may come in, what they see, what goes wrong.

import { type Context, Hono } from 'hono';
import { readPulse } from '../answers/now/figures.js';
import type { Session } from '../answers/reads.js';
import { systemClock } from '../environment/system-clock.js';
import type { Logger } from '../model/logger.js';
import { includesRole, type Operator } from '../model/operator.js';
import { databaseOf, hearChanges } from '../tock/database-of.js';
import type { Tock } from '../tock/types.js';
import type { Access } from './access/access.js';
import { methodsByPath } from './access/allowed-methods.js';
import { readBody } from './access/read-body.js';
import { readAssets } from './assets.js';
import {
  addSignIn,
  type Bare,
  isSafe,
  makeBare,
  openDoor,
  type Refusal,
  refuse,
  requireSameOrigin,
} from './door.js';
import { type Explained, explainError } from './explain-error.js';
import { addHealthz } from './healthz.js';
import { Page } from './layout/page.js';
import { makeLink, withoutBase } from './links.js';
import type { OpenStreams } from './live/text-stream.js';
import { createWatch } from './live/watch.js';
import { makeViews } from './make-view.js';
import { checkQuery } from './query.js';
import { addPages } from './routes.js';
import type { Among, App, View } from './view.js';

export interface AppOptions {
  readonly tock: Tock;
  readonly reads: () => Promise<Session>;
  /** Without a slash at its end; empty at the root. */
  readonly basePath: string;
  readonly access: Access;
  readonly among: Among | null;
  readonly streams: OpenStreams;
}

type Handler = Context<{ Variables: { view: View } }>;

const RETRY_SECONDS = 5;

/** Makes the routes. Nothing is connected. */
export function createApp(options: AppOptions): App {
  const { basePath, access } = options;
  const assets = readAssets();
  const link = makeLink(basePath);
  const style = link(assets.style.path);
  const app: App = new Hono({ getPath: request => withoutBase(new URL(request.url).pathname, basePath) });
  const bare = makeBare(style);
  openDoor(app, { access, basePath, assets });
  addHealthz(app, options.tock);
  addSignIn(app, access, link, bare);
  requireSameOrigin(app, access, bare);

  const watch = createWatch({
    clock: systemClock,
    look: async last => {
      // Throws once the Tock is closed, also where a replica is read.
      await databaseOf(options.tock);
      return await readPulse(await options.reads(), last);
    },
    hear: async wake => await hearChanges(options.tock, wake),
  });
  const views = makeViews(options, assets, watch);
  let pages: ReadonlySet<string> = new Set();
  let methods: (path: string) => readonly string[] = () => [];
  app.use(async (c, next) => {
    const user = await access.authorize(c.req.raw);
    if (user === null) return refuse(c, access, bare);
    checkQuery(new URL(c.req.url).searchParams);
    // A request without a route is answered before its body is read.
    if (!isSafe(c.req.method) && methods(c.req.path).includes(c.req.method)) {
      const body = await readChange(c.req.raw, user);
      if ('status' in body) return bare(c, body.status, 'This was refused', body.message);
      c.req.raw = body.request;
    }
    c.set('view', await views(c, user, pages));
    return await next();
  });
  addPages(app, watch, options.streams);
  methods = methodsByPath(app.routes);
  pages = new Set(app.routes.filter(({ method }) => method === 'GET').map(({ path }) => path));

  app.notFound(c => {
    const allowed = methods(c.req.path);
    if (allowed.length === 0)
      return page(
        c,
        404,
        'There is no such page',
        'The address is not complete, or what it showed has been removed.',
        bare,
      );
    c.header('allow', allowed.join(', '));
    return page(c, 405, 'This address is for a button', 'Go back, and press the button on the page.', bare);
  });
  app.onError((error, c) => {
    const explained = explainError(error);
    if (explained.status === 500) report(options.tock, error);
    return answer(c, explained, bare);
  });
  return app;
}

/** Within the frame where there is one. */
function page(c: Handler, status: Refusal, title: string, message: string, bare: Bare) {
  const view = c.get('view') as View | undefined;
  if (view === undefined) return bare(c, status, title, message);
  return c.html(
    <Page view={view} title={title} current={null}>
      <p class="lead">{message}</p>
    </Page>,
    status,
  );
}

function answer(c: Handler, { status, title, message, isPassing }: Explained, bare: Bare) {
  if (!isPassing) return page(c, status, title, message, bare);
  c.header('retry-after', `${RETRY_SECONDS}`);
  // A form that is sent again by itself could act twice.
  return bare(c, status, title, message, isSafe(c.req.method) ? RETRY_SECONDS : undefined);
}

async function readChange(request: Request, user: Operator) {
  if (!includesRole(user.role, 'operate'))
    return { status: 403, message: `Your role is ${user.role}: you may look, but change nothing.` } as const;
  return await readBody(request);
}

/** To the Tock's own logger, if it has one. */
function report(tock: Tock, error: unknown): void {
  const { logger } = tock as { readonly logger?: Logger | null };
  logger?.error({ event: 'dashboard.failed', err: error }, 'a page of the dashboard failed');
}
