// The pages behind one function from Request to Response: who may come in, what they see, what goes wrong.
import { type Context, Hono } from 'hono';
import { setCookie } from 'hono/cookie';
import type { Logger } from '../model/logger.js';
import { includesRole, type Operator } from '../model/operator.js';
import type { Session } from '../store/connection/database.js';
import type { Tock } from '../tock/types.js';
import type { Access } from './access/access.js';
import { methodsByPath } from './access/allowed-methods.js';
import { readBody } from './access/read-body.js';
import { isSameOrigin } from './access/same-origin.js';
import { secure } from './access/security-headers.js';
import { type Assets, readAssets } from './assets.js';
import { type Explained, explainError } from './explain-error.js';
import { addHealthz } from './healthz.js';
import { BarePage } from './layout/bare-page.js';
import { Page } from './layout/page.js';
import { makeLink, OUTSIDE, withoutBase } from './links.js';
import { makeViews } from './make-view.js';
import { checkQuery } from './query.js';
import { addPages } from './routes.js';
import type { App, View } from './view.js';

export interface AppOptions {
  readonly tock: Tock;
  readonly reads: () => Promise<Session>;
  /** Without a slash at its end; empty at the root. */
  readonly basePath: string;
  readonly access: Access;
}

type Handler = Context<{ Variables: { view: View } }>;

const RETRY_SECONDS = 5;
const isSafe = (method: string) => method === 'GET' || method === 'HEAD';

/** Makes the routes. Nothing is connected. */
export function createApp(options: AppOptions): App {
  const { basePath, access } = options;
  const assets = readAssets();
  const link = makeLink(basePath);
  const style = link(assets.style.path);
  const app: App = new Hono({ getPath: request => withoutBase(new URL(request.url).pathname, basePath) });
  const bare = (c: Handler, status: Refusal, title: string, message: string, retry?: number) =>
    c.html(
      <BarePage sheet={style} title={title} {...(retry === undefined ? {} : { retry })}>
        <p>{message}</p>
      </BarePage>,
      status,
    );

  app.use(async (c, next) => {
    await next();
    secure(c.res.headers);
  });
  app.use(async (c, next) => {
    const { hostname } = new URL(c.req.url);
    if (access.answersTo?.(hostname) === false)
      return bare(
        c,
        421,
        'Another name is needed',
        `This dashboard does not answer to ${hostname}. Use localhost, or name it in TOCK_DASHBOARD_HOSTS.`,
      );
    return await next();
  });
  app.use(async (c, next) => {
    if (c.req.path !== OUTSIDE) return await next();
    return bare(c, 404, 'There is no such page', `The pages of the scheduler are below ${link('/')}.`);
  });
  addAssets(app, assets);
  addHealthz(app, options.tock);
  if (access.signIn) addSignIn(app, access.signIn, link, bare);
  app.use(async (c, next) => {
    if (!isSafe(c.req.method) && !isSameOrigin(c.req.raw))
      return bare(
        c,
        403,
        'This came from another site',
        'A change is accepted only from a page of this dashboard. Open the page, and press the button there.',
      );
    return await next();
  });

  const views = makeViews(options, assets);
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
  addPages(app);
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

type Refusal = 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 421 | 500 | 503;
type Bare = (
  c: Handler,
  status: Refusal,
  title: string,
  message: string,
  retry?: number,
) => Response | Promise<Response>;

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

function refuse(c: Handler, { challenge, howTo }: Access, bare: Bare) {
  if (challenge !== null) c.header('www-authenticate', challenge);
  return bare(c, 401, 'You are not signed in', howTo);
}

async function readChange(request: Request, user: Operator) {
  if (!includesRole(user.role, 'operate'))
    return { status: 403, message: `Your role is ${user.role}: you may look, but change nothing.` } as const;
  return await readBody(request);
}

function addAssets(app: App, assets: Assets): void {
  for (const { path, type, content, compressed } of Object.values(assets))
    app.get(path, c => {
      const headers = {
        'content-type': type,
        'cache-control': 'public, max-age=31536000, immutable',
        vary: 'accept-encoding',
      };
      const isCompressed = /\bgzip\b/.test(c.req.header('accept-encoding') ?? '');
      return isCompressed
        ? c.body(compressed(), 200, { ...headers, 'content-encoding': 'gzip' })
        : c.body(content, 200, headers);
    });
}

function addSignIn(app: App, signIn: NonNullable<Access['signIn']>, link: View['link'], bare: Bare): void {
  app.get('/sign-in', c => {
    const result = signIn.exchange(c.req.query('token') ?? '');
    if ('refusal' in result) return bare(c, 401, 'This link does not work', result.refusal);
    setCookie(c, signIn.cookie, result.cookie, { path: link('/'), httpOnly: true, sameSite: 'Strict' });
    return c.redirect(link('/'), 303);
  });
}

/** To the Tock's own logger, if it has one. */
function report(tock: Tock, error: unknown): void {
  const { logger } = tock as { readonly logger?: Logger | null };
  logger?.error({ event: 'dashboard.failed', err: error }, 'a page of the dashboard failed');
}
