// Room: tests of the dashboard. Its pages asked through the handler, as an app asks it, for tests that look at what they say.
import { createDashboard } from '../../src/dashboard/create-dashboard.js';
import type { Tock } from '../../src/index.js';
import type { Role } from '../../src/model/operator.js';

export interface Pages {
  readonly get: (
    path: string,
  ) => Promise<{ readonly status: number; readonly text: string; readonly to: string }>;
  readonly post: (
    path: string,
    fields?: Record<string, string>,
  ) => Promise<{
    readonly status: number;
    readonly text: string;
    readonly to: string;
    readonly flash: string;
  }>;
}

/** @param as who looks */
export function pagesOf(
  tock: Tock,
  as: { readonly role?: Role; readonly seesPayloads?: boolean } = {},
): Pages {
  const { role = 'operate', seesPayloads = true } = as;
  const dashboard = createDashboard({ tock, authorize: () => ({ user: 'ann', role, seesPayloads }) });
  const answer = async (response: Response) => ({
    status: response.status,
    text: await response.text(),
    to: response.headers.get('location') ?? '',
    flash: decodeURIComponent(
      /^tock-flash=([^;]*)/.exec(response.headers.getSetCookie().at(-1) ?? '')?.[1] ?? '',
    ),
  });
  return {
    get: async path => await answer(await dashboard.fetch(new Request(`http://localhost${path}`))),
    post: async (path, fields = {}) =>
      await answer(
        await dashboard.fetch(
          new Request(`http://localhost${path}`, {
            method: 'POST',
            body: new URLSearchParams(fields),
            headers: { 'sec-fetch-site': 'same-origin' },
          }),
        ),
      ),
  };
}

/** The text of a page without its tags, blanks made one. */
export const words = (html: string): string =>
  html
    .replace(/<(script|style|svg)[^]*?<\/\1>/g, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ');
