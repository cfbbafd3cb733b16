// Which files belong to a job module.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readJobFiles } from '../../../src/cli/watch/job-files.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-job-files-'));
});
afterEach(async () => await rm(folder, { recursive: true }));

async function filesOf(files: Readonly<Record<string, string>>): Promise<string[]> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  const found = readJobFiles([path.join(folder, 'jobs/index.ts')]);
  return [...found]
    .filter(([, text]) => text !== null)
    .map(([file]) => path.relative(folder, file))
    .sort();
}

describe('readJobFiles', () => {
  it('follows imports to the end, also in circles, and reads data as text', async () => {
    const found = await filesOf({
      'jobs/index.ts': `import { mail } from './mail.js';\nexport const jobs = [mail];`,
      'jobs/mail.ts': `import '../lib/smtp';\nimport texts from './texts.json' with { type: 'json' };`,
      'jobs/texts.json': `{ "from": "./other.js" }`,
      'jobs/other.js': '',
      'lib/smtp/index.ts': `import '../../jobs/mail.js'; const late = () => import('./late.mjs');`,
      'lib/smtp/late.mjs': '',
      'lib/unused.ts': '',
    });
    expect(found).toEqual([
      'jobs/index.ts',
      'jobs/mail.ts',
      'jobs/texts.json',
      'lib/smtp/index.ts',
      'lib/smtp/late.mjs',
    ]);
  });

  it('follows links of a workspace and imports that begin with #, and no other package', async () => {
    await mkdir(path.join(folder, 'node_modules'), { recursive: true });
    await symlink('../packages/shared', path.join(folder, 'node_modules/shared'));
    const found = await filesOf({
      'package.json': '{ "imports": { "#lib/*": "./lib/*.js" } }',
      'jobs/index.ts': `import 'shared'; import '#lib/a'; import 'left-pad'; import 'node:fs'; import 'nowhere';`,
      'lib/a.js': '',
      'packages/shared/package.json': '{ "name": "shared", "main": "main.js" }',
      'packages/shared/main.js': '',
      'node_modules/left-pad/index.js': '',
    });
    expect(found).toEqual(['jobs/index.ts', 'lib/a.js', 'packages/shared/main.js']);
  });

  it('knows the names that a missing file may have', async () => {
    await filesOf({ 'jobs/index.ts': `import './mail.js';` });
    const found = readJobFiles([path.join(folder, 'jobs/index.ts')]);
    for (const name of ['mail.js', 'mail.ts']) expect(found.get(path.join(folder, 'jobs', name))).toBeNull();
  });
});
