// Test support: the dashboard of a test's Tock, asked through its fetch as somebody of a role.

import { createDashboard } from '../../../src/dashboard/create-dashboard.js';
import type { AnyJob } from '../../../src/index.js';
import type { Role } from '../../../src/model/operator.js';
import { reuseTestTock, type TestTock } from '../../support/test-tock.js';

export interface Answer {
  readonly status: number;
  readonly html: string;
  /** The text of <main>, without tags, spaces collapsed. */
  readonly text: string;
  /** Where a redirect leads. */
  readonly location: string | null;
}

export interface PageKit extends TestTock {
  readonly get: (path: string, role?: Role) => Promise<Answer>;
  /** Posts a form; follows the redirect and gives the page that follows, with its message. */
  readonly post: (path: string, fields?: Record<string, string>, role?: Role) => Promise<Answer>;
}

export async function openPageKit(
  jobs: readonly AnyJob[] = [],
  options: Parameters<typeof reuseTestTock>[1] = {},
): Promise<PageKit> {
  const test = await reuseTestTock(jobs, options);
  const dashboard = createDashboard({
    tock: test.tock,
    basePath: '/tock',
    authorize: request => ({ user: 'mia', role: request.headers.get('x-role') as Role, seesPayloads: false }),
  });
  const ask = async (
    path: string,
    role: Role,
    init: RequestInit = {},
    headers: Record<string, string> = {},
  ) => {
    const response = await dashboard.fetch(
      new Request(`http://localhost/tock${path}`, { ...init, headers: { 'x-role': role, ...headers } }),
    );
    const html = await response.text();
    return {
      status: response.status,
      html,
      text: textOf(html),
      location: response.headers.get('location'),
      cookie: response.headers.get('set-cookie')?.split(';')[0] ?? '',
    };
  };
  return {
    ...test,
    get: async (path, role = 'admin') => await ask(path, role),
    post: async (path, fields = {}, role = 'admin') => {
      const answer = await ask(
        path,
        role,
        { method: 'POST', body: new URLSearchParams(fields) },
        { 'sec-fetch-site': 'same-origin' },
      );
      if (answer.status !== 303 || answer.location === null) return answer;
      const next = answer.location.replace(/^\/tock/, '');
      return { ...(await ask(next, role, {}, { cookie: answer.cookie })), location: answer.location };
    },
    close: async () => {
      await dashboard.close();
      await test.close();
    },
  };
}

function textOf(html: string): string {
  const content = /<div class="content">([\s\S]*?)<\/main>/.exec(html)?.[1] ?? html;
  return content
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&amp;', '&')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('\u202f', ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Labels of the buttons on a page. */
export const buttonsOf = ({ html }: Answer): string[] =>
  [...(html.match(/<main[\s\S]*<\/main>/)?.[0] ?? '').matchAll(/<button[^>]*>([^<]*)<\/button>/g)].map(
    ([, label = '']) => label,
  );
