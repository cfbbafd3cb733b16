// The pages behind one function from Request to Response: who may come in, what they see, what goes wrong.
import { Hono } from 'hono';
import type { Operator } from '../model/operator.js';
import type { Session } from '../store/connection/database.js';
import { readFrame } from '../store/reads/frame.js';
import type { Tock } from '../tock/types.js';
import { type Assets, readAssets } from './assets.js';
import { explainError } from './explain-error.js';
import { takeFlash } from './flash.js';
import { makeLink, withoutBase } from './links.js';
import { addPages } from './routes.js';
import type { App } from './view.js';

export interface AppOptions {
  readonly tock: Tock;
  readonly reads: () => Promise<Session>;
  /** Without a slash at its end; empty at the root. */
  readonly basePath: string;
  readonly authorize: (request: Request) => Promise<Operator | null>;
}

/** Pages for those whom `authorize` lets in. */
export function createApp({ tock, reads, basePath, authorize }: AppOptions): App {
  const assets = readAssets();
  const link = makeLink(basePath);
  const app: App = new Hono({ getPath: request => withoutBase(new URL(request.url).pathname, basePath) });
  addAssets(app, assets);
  app.use(async (c, next) => {
    const user = await authorize(c.req.raw);
    if (user === null) return c.text('You are not signed in.', 401);
    const session = await reads();
    const frame = await readFrame(session);
    const { pathname, search } = new URL(c.req.url);
    c.set('view', {
      tock: actingAs(tock, user),
      reads: session,
      user,
      zone: 'UTC',
      now: frame.now,
      link,
      here: `${pathname}${search}`,
      frame,
      pages,
      assets: { style: link(assets.style.path), script: link(assets.script.path) },
      flash: takeFlash(c, link('/')),
    });
    return await next();
  });
  addPages(app);
  const pages = new Set(app.routes.filter(({ method }) => method === 'GET').map(({ path }) => path));
  app.onError((error, c) => {
    const { status, message } = explainError(error);
    return c.text(message, status);
  });
  return app;
}

/** The same Tock for `operator`, whose role is checked where a command is carried out. */
function actingAs(tock: Tock, operator: Operator): Tock {
  const { as } = tock as Tock & { readonly as?: (operator: Operator) => Tock };
  return as === undefined ? tock : as(operator);
}

function addAssets(app: App, { style, script }: Assets): void {
  for (const { path, type, content } of [style, script])
    app.get(path, c =>
      c.body(content, 200, { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' }),
    );
}
