// What dist/ carries of others, and their licences.
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '..');
const DIST = path.join(ROOT, 'dist');

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}
const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest;

/** The folders of the packages that the source maps in dist/ name. */
function packagesInDist(): string[] {
  const folders = new Set<string>();
  for (const name of readdirSync(DIST, { recursive: true, encoding: 'utf8' })) {
    if (!/\.c?js\.map$/.test(name)) continue;
    const map = path.join(DIST, name);
    const { sources } = JSON.parse(readFileSync(map, 'utf8')) as { sources: string[] };
    for (const source of sources) {
      const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path.resolve(path.dirname(map), source))?.[0];
      if (folder !== undefined) folders.add(folder);
    }
  }
  return [...folders];
}

describe('dist/THIRD-PARTY-LICENSES.txt', () => {
  const text = readFileSync(path.join(DIST, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  const folders = packagesInDist();

  it('has each bundled package with its version and the text of its licence', () => {
    expect(folders.length).toBeGreaterThan(20);
    for (const folder of folders) {
      const { name, version } = manifestOf(folder);
      const entry = text.split(`\n${name} ${version} (`)[1] ?? '';
      expect([name, entry]).toEqual([name, expect.stringMatching(/^(?:MIT|ISC|BSD|Apache)/)]);
      const file = readdirSync(folder).find(each => /^licen[cs]e/i.test(each));
      // The others have it in their README.
      const licence =
        file === undefined ? 'Permission is hereby granted' : readFileSync(path.join(folder, file), 'utf8');
      expect(entry.split('\n---')[1]).toContain(licence.replaceAll('\r\n', '\n').trim());
    }
  });

  it('has htmx, which is copied', () => {
    expect(text).toMatch(/\nhtmx\.org \d+\.\d+\.\d+ \(0BSD\)\n/);
    expect(readFileSync(path.join(DIST, 'assets/htmx.min.js'), 'utf8').length).toBeGreaterThan(30_000);
  });

  it('has the versions that package.json names', () => {
    const { dependencies = {} } = manifestOf(ROOT);
    const bundled = new Map(folders.map(manifestOf).map(({ name, version }) => [name, version]));
    for (const [name, version] of Object.entries(dependencies))
      if (bundled.has(name)) expect([name, bundled.get(name)]).toEqual([name, version]);
    for (const name of ['pg', 'kysely', 'pino']) expect(bundled.has(name)).toBe(true);
  });
});

describe('the build', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'tock-licence-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const script = path.join(ROOT, 'scripts', 'third-party-licenses.mjs');
  async function readLicense(license: string, files: Readonly<Record<string, string>>): Promise<unknown> {
    const module = (await import(pathToFileURL(script).href)) as {
      readLicense: (of: string) => Promise<unknown>;
    };
    const all = { 'package.json': JSON.stringify({ name: 'some', version: '1.2.3', license }), ...files };
    for (const [name, text] of Object.entries(all)) await writeFile(path.join(folder, name), text);
    return await module.readLicense(folder);
  }

  it.each([
    [
      'a licence that is not allowed',
      'GPL-3.0',
      { LICENSE: 'Permission is granted' },
      /GPL-3.0 is not one of MIT/,
    ],
    ['no text', 'MIT', {}, /text of its licence is nowhere/],
    ['no more than its name', 'MIT', { 'README.md': '# some\n\n## License\n\nMIT\n' }, /is nowhere/],
  ])('fails for a package with %s', async (_, license, files, message) => {
    await expect(readLicense(license, files as Record<string, string>)).rejects.toThrow(message);
  });

  it('takes the text from the README where there is no file, and notices beside it', async () => {
    const files = {
      'README.md': '# some\n\n## License\n\nPermission is hereby granted …\n\n## Thanks\n',
      NOTICE: 'made by somebody',
    };
    expect(await readLicense('Apache-2.0', files)).toEqual({
      name: 'some',
      version: '1.2.3',
      license: 'Apache-2.0',
      text: 'made by somebody\n\nPermission is hereby granted …',
    });
  });
});
