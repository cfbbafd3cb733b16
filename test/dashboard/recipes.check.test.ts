// The recipes of docs/dashboard.md, executed as they stand there, in a project that has the package.
import { symlink } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/free-port.js';
import { openOnce } from '../support/open.js';
import { startProcess } from '../support/processes.js';
import { reuseTestTock, until } from '../support/test-tock.js';
import { type ExampleProject, examplesOf, makeProject } from '../testing/example-project.js';

const ROOT = path.join(import.meta.dirname, '../..');
const TOKEN = 'a-token-of-the-app';
const RECIPES = ['node:http', 'Hono'];

const test = openOnce(reuseTestTock);
let project: ExampleProject;
beforeAll(async () => {
  const recipes = await examplesOf('docs/dashboard.md');
  project = await makeProject(Object.fromEntries(recipes.map((code, index) => [`recipe-${index}.js`, code])));
  for (const name of ['hono', '@hono'])
    await symlink(path.join(ROOT, 'node_modules', name), path.join(project.folder, 'node_modules', name));
});
afterAll(async () => {
  await project.remove();
});

it('the document has these recipes', async () => {
  expect(await examplesOf('docs/dashboard.md')).toHaveLength(RECIPES.length);
});

describe.each(RECIPES.map((name, index) => [name, index] as const))('the recipe for %s', (_, index) => {
  it('serves the app and the dashboard, to whom the app knows', async () => {
    const port = await freePort();
    const running = startProcess(path.join(project.folder, `recipe-${index}.js`), {
      DATABASE_URL: test.url,
      ADMIN_TOKEN: TOKEN,
      PORT: `${port}`,
    });
    try {
      const get = async (address: string, headers: Record<string, string> = {}) =>
        await fetch(`http://localhost:${port}${address}`, { headers });
      await until(async () => await get('/').catch(() => null), 'the app');
      expect(await (await get('/')).text()).toBe('the app');
      expect((await get('/admin/tock')).status).toBe(401);
      const page = await get('/admin/tock', { authorization: `Bearer ${TOKEN}` });
      expect(page.status).toBe(200);
      const text = await page.text();
      expect(text).toContain('<title>Now · Tock</title>');
      const [, sheet = ''] = /href="([^"]+\.css)"/.exec(text) ?? [];
      expect((await get(sheet)).headers.get('content-type')).toBe('text/css; charset=utf-8');
    } finally {
      running.child.kill('SIGKILL');
      await running.ended;
    }
  });
});
