// Room: tests of the dashboard. A dashboard served on a port of its own, and requests as a browser or as nobody sends them.
import { connect } from 'node:net';
import { type ServedDashboard, type ServeOptions, serveDashboard } from '../../src/dashboard/server/serve.js';
import { readDashboardSettings } from '../../src/dashboard/server/settings.js';

export interface Served extends ServedDashboard {
  readonly port: number;
  /** The one-time links up to now. */
  readonly links: readonly string[];
  /** Asks as a browser that is signed in, and follows no redirect. */
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Response>;
  /** Sends a form as a page of the dashboard would. */
  readonly post: (
    path: string,
    fields?: Record<string, string>,
    headers?: Record<string, string>,
  ) => Promise<Response>;
  /** Sends bytes, and reads until the server ends or `until` has come. */
  readonly raw: (request: string, until?: RegExp) => Promise<string>;
}

/** @param env as the process would have it; with users or a proxy's secret there is no session */
export async function serve(
  tock: ServeOptions['tock'],
  env: Record<string, string> = {},
  port = 0,
): Promise<Served> {
  const links: string[] = [];
  const served = await serveDashboard({
    tock,
    host: '127.0.0.1',
    port,
    settings: readDashboardSettings(env),
    onLink: link => links.push(link),
  });
  const [link] = links;
  const session = link === undefined ? {} : { cookie: await signIn(link) };
  const at = (path: string) => new URL(path, served.url);
  return {
    ...served,
    port: Number(new URL(served.url).port),
    links,
    get: async (path, headers) =>
      await fetch(at(path), { headers: { ...session, ...headers }, redirect: 'manual' }),
    post: async (path, fields = {}, headers = {}) =>
      await fetch(at(path), {
        method: 'POST',
        body: new URLSearchParams(fields),
        headers: { ...session, 'sec-fetch-site': 'same-origin', ...headers },
        redirect: 'manual',
      }),
    raw: async (request, until) => await exchange(Number(new URL(served.url).port), request, until),
  };
}

/** Opens a one-time link; resolves to the cookie that it gives. */
export async function signIn(link: string): Promise<string> {
  const answer = await fetch(link, { redirect: 'manual' });
  const [cookie = ''] = answer.headers.getSetCookie();
  return cookie.split(';')[0] ?? '';
}

async function exchange(port: number, request: string, until?: RegExp): Promise<string> {
  return await new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      answer += text;
      if (until?.test(answer) === true) {
        socket.destroy();
        resolve(answer);
      }
    });
    socket.on('error', error => (answer === '' ? reject(error) : resolve(answer)));
    socket.on('close', () => resolve(answer));
  });
}

/** The status of an answer as it came over the wire. */
export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
