// Part of scripts/try-package.mjs: a test of a job under Jest, as docs/testing.md says: as an ES module, and as CommonJS.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const docs = fileURLToPath(new URL('../../docs/testing.md', import.meta.url));
const BODY = `
test('a handler uses the database', async () => {
  const job = defineJob({ name: 'x', run: async ctx => (await ctx.db.selectFrom('pg_class').selectAll().limit(1).execute()).length });
  const kit = await openTestTock({ jobs: [job] });
  try {
    expect(await kit.runOnce(job)).toMatchObject({ errors: [], output: 1 });
  } finally {
    await kit.close();
  }
}, 120_000);
`;

export async function tryJest({ folder, run, say, write, newDatabase, tarball }) {
  const cwd = path.join(folder, 'jest');
  const dependencies = {
    'pg-tock': `file:${tarball}`,
    kysely: '0.28.18',
    jest: '30.5.2',
    '@swc/core': '1.16.22',
    '@swc/jest': '0.2.39',
  };
  await write('jest/package.json', JSON.stringify({ name: 'jest-app', dependencies }));
  run('npm', ['install', '--no-audit', '--no-fund', '--silent', '--no-package-lock'], { cwd });
  const [, config] = /```js\n(\/\/ jest\.config\.js\n[^]*?)```/.exec(await readFile(docs, 'utf8'));
  await write('jest/jest.config.js', config.replace(/.*ts-jest.*\n/, ''));
  await write('jest/esm.config.js', `module.exports = { testMatch: ['**/*.mjs'], transform: {} };`);
  await write(
    'jest/esm.mjs',
    `import { defineJob } from 'pg-tock';\nimport { openTestTock } from 'pg-tock/testing';\n${BODY}`,
  );
  await write(
    'jest/cjs.test.js',
    `const { defineJob } = require('pg-tock');\nconst { openTestTock } = require('pg-tock/testing');\n${BODY}`,
  );
  const env = { TOCK_TEST_DATABASE_URL: await newDatabase() };
  const jest = path.join(cwd, 'node_modules', 'jest', 'bin', 'jest.js');
  run(process.execPath, [jest], { cwd, env });
  run(process.execPath, ['--experimental-vm-modules', jest, '--config', 'esm.config.js'], { cwd, env });
  say('Jest tests jobs, as ES modules and as CommonJS');
}
