// Before any page: headers, the host's name, the files, the one-time links, requests of other sites.
import type { Context, Env, Hono } from 'hono';
import { deleteCookie, setCookie } from 'hono/cookie';
import { showHiddenInPage } from '../model/hidden-characters.js';
import type { Access } from './access/access.js';
import { isSameOrigin } from './access/same-origin.js';
import { secure } from './access/security-headers.js';
import type { Assets } from './assets.js';
import { BarePage } from './layout/bare-page.js';
import { makeLink, OUTSIDE } from './links.js';

export type Refusal = 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 421 | 429 | 500 | 503;

/** A page without the frame. @param retry seconds after which the browser asks again */
export type Bare = (
  c: Context,
  status: Refusal,
  title: string,
  message: string,
  retry?: number,
) => Response | Promise<Response>;

export const isSafe = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** @param style the address of the style sheet */
export function makeBare(style: string): Bare {
  return (c, status, title, message, retry) =>
    c.html(
      <BarePage sheet={style} title={title} {...(retry === undefined ? {} : { retry })}>
        <p>{message}</p>
      </BarePage>,
      status,
    );
}

export interface DoorOptions {
  readonly access: Access;
  /** Without a slash at its end; empty at the root. */
  readonly basePath: string;
  readonly assets: Assets;
}

/** Security headers for each answer; only known hosts; only paths below the base path; the files. */
export function openDoor<E extends Env>(app: Hono<E>, { access, basePath, assets }: DoorOptions): void {
  const link = makeLink(basePath);
  const bare = makeBare(link(assets.style.path));
  app.use(async (c, next) => {
    await next();
    await showAll(c);
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
}

/** Whatever a page shows of jobs and people has no characters that hide or reverse text. */
async function showAll(c: Context): Promise<void> {
  if (!/^text\/html\b/.test(c.res.headers.get('content-type') ?? '')) return;
  const { status, headers } = c.res;
  c.res = new Response(showHiddenInPage(await c.res.text()), { status, headers });
}

function addAssets<E extends Env>(app: Hono<E>, assets: Assets): void {
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

export function addSignIn<E extends Env>(
  app: Hono<E>,
  access: Access,
  link: (path: string) => string,
  bare: Bare,
): void {
  const { signIn } = access;
  if (signIn === null) return;
  // Without a slash at its end it also goes to the base path itself.
  const path = link('') || '/';
  app.get('/sign-in', c => {
    // Programs that look where a link leads do not use it up.
    if (c.req.method === 'HEAD') return c.body(null, 204);
    const result = signIn.exchange(c.req.query('token') ?? '');
    if ('refusal' in result) return bare(c, 401, 'This link does not work', result.refusal);
    setCookie(c, signIn.cookie, result.cookie, { path, httpOnly: true, sameSite: 'Strict' });
    return c.redirect(link('/'), 303);
  });
  app.post('/sign-out', c => {
    if (!isSameOrigin(c.req.raw, access.origins)) return fromElsewhere(c, bare);
    signIn.end(c.req.raw);
    deleteCookie(c, signIn.cookie, { path });
    return c.redirect(link('/'), 303);
  });
}

const fromElsewhere = (c: Context, bare: Bare) =>
  bare(
    c,
    403,
    'This came from another site',
    'A change is accepted only from a page of this dashboard. If you pressed the button there, a proxy changes the name of the host: let it pass the header Host on, or list the origin of the pages, such as https://ops.example.com, in TOCK_DASHBOARD_HOSTS.',
  );

export function requireSameOrigin<E extends Env>(app: Hono<E>, { origins }: Access, bare: Bare): void {
  app.use(async (c, next) => {
    if (!isSafe(c.req.method) && !isSameOrigin(c.req.raw, origins)) return fromElsewhere(c, bare);
    return await next();
  });
}

export function refuse(c: Context, access: Access, bare: Bare): Response | Promise<Response> {
  const { challenge, howTo } = access;
  const seconds = access.secondsToWait?.(c.req.raw) ?? 0;
  if (seconds > 0) {
    c.header('retry-after', `${seconds}`);
    const message = `Wait ${seconds} s, then reload the page and enter your name and password.`;
    return bare(c, 429, 'Too many wrong passwords', message);
  }
  if (challenge !== null) c.header('www-authenticate', challenge);
  return bare(c, 401, 'You are not signed in', howTo);
}
