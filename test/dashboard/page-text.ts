// Room: tests of the dashboard. Pages by the handler alone, without a server; and what a reader sees of them.
import { createDashboard, type Dashboard } from '../../src/dashboard.js';
import type { Tock } from '../../src/index.js';
import type { Role } from '../../src/model/operator.js';

export interface Pages {
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Response>;
  /** The page's source, which must have been made. */
  readonly html: (path: string) => Promise<string>;
  /** Sends a form as a page would; a list gives one field for each of its values. */
  readonly post: (path: string, fields?: Record<string, string | readonly string[]>) => Promise<Response>;
  readonly close: Dashboard['close'];
}

export function openPages(tock: Tock, role: Role = 'admin', seesPayloads = true): Pages {
  const dashboard = createDashboard({ tock, authorize: () => ({ user: 'ann', role, seesPayloads }) });
  const at = (path: string) => `http://app.example.com${path}`;
  const get = async (path: string, headers: Record<string, string> = {}) =>
    await dashboard.fetch(new Request(at(path), { headers }));
  return {
    get,
    html: async path => {
      const answer = await get(path);
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${textOf(text)}`);
      return text;
    },
    post: async (path, fields = {}) => {
      const body = new URLSearchParams();
      for (const [name, values] of Object.entries(fields))
        for (const value of [values].flat()) body.append(name, value);
      const headers = { 'sec-fetch-site': 'same-origin' };
      return await dashboard.fetch(new Request(at(path), { method: 'POST', body, headers }));
    },
    close: async () => await dashboard.close(),
  };
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** What stands on a page, without its tags; `<main>` only, where there is one. */
export function textOf(html: string): string {
  const main = /<main[\s\S]*<\/main>/.exec(html)?.[0] ?? html;
  return main
    .replace(/<(?:title|option)[^>]*>[\s\S]*?<\/(?:title|option)>/g, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** The titles of the marks and cells of a picture, in their order. */
export function titlesIn(html: string, kind: string): string[] {
  const picture = new RegExp(`<svg class="${kind}[\\s\\S]*?</svg>`).exec(html)?.[0] ?? '';
  return [...picture.matchAll(/<title>([\s\S]*?)<\/title>/g)].map(([, text = '']) => textOf(text));
}
