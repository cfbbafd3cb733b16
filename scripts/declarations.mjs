// The type declarations of the package: only those that its entries reach, and a copy of them for CommonJS.
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

const IMPORT = /(?:\bfrom|\bimport\(|^import)\s*['"](\.[^'"]+)\.js['"]/gm;

/**
 * @param out the folder of the build
 * @param entries their names in src/
 */
export async function finishDeclarations(out, entries) {
  const folder = path.join(out, 'types');
  // TypeScript takes a declaration for that of an ES module or of CommonJS by the nearest package.json.
  const commonJs = path.join(out, 'types-cjs');
  const reached = new Set();
  const pending = entries.map(name => path.join(folder, 'src', `${name}.d.ts`));
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    for (const [, to] of (await readFile(file, 'utf8')).matchAll(IMPORT))
      pending.push(`${path.join(path.dirname(file), to)}.d.ts`);
  }
  // The others are of tests, jobs and inner parts, and name packages that users lack.
  for (const name of await readdir(folder, { recursive: true })) {
    const file = path.join(folder, name);
    if (name.endsWith('.d.ts') && !reached.has(file)) await rm(file);
  }
  for (const name of ['test', 'jobs']) await rm(path.join(folder, name), { recursive: true, force: true });
  await hideInnerTypes(folder);
  // Signals, URLs and the like. Compilers from 6.0 on take no package's types by themselves.
  for (const name of entries) {
    const file = path.join(folder, 'src', `${name}.d.ts`);
    await writeFile(file, `/// <reference types="node" />\n${await readFile(file, 'utf8')}`);
  }
  await cp(folder, commonJs, { recursive: true });
  await writeFile(path.join(commonJs, 'package.json'), `${JSON.stringify({ type: 'commonjs' })}\n`);
}

/** Packages of which inner parts name types, though an app may lack their declarations, or the package. */
const HIDDEN = ['pg', 'hono'];
/** What an app has that imports these declarations. */
const THERE = /^(?:kysely$|node:|\.)/;

/**
 * Puts a stand-in in the place of types that belong to inner parts: nothing that a user calls takes or gives them.
 * @throws where another package is named
 */
async function hideInnerTypes(folder) {
  const named = new Set();
  for (const name of await readdir(folder, { recursive: true })) {
    const file = path.join(folder, name);
    if (!name.endsWith('.d.ts')) continue;
    const standIn = path.relative(path.dirname(file), path.join(folder, 'src', 'inner-types.js'));
    const to = standIn.startsWith('.') ? standIn : `./${standIn}`;
    const text = await readFile(file, 'utf8');
    let hidden = text;
    for (const [whole, clause, from] of text.matchAll(/^import (?:type )?(.*) from ['"]([^'"]+)['"];$/gm)) {
      if (THERE.test(from)) continue;
      if (!HIDDEN.includes(from)) throw new Error(`${name} names types of ${from}, which an app may lack`);
      const all = /^\* as (\w+)$/.exec(clause)?.[1] ?? /^(\w+)$/.exec(clause)?.[1];
      const names =
        all === undefined
          ? clause.replaceAll(/[{}]|\btype\b/g, '').split(',')
          : [...text.matchAll(new RegExp(`\\b${all}\\.(\\w+)`, 'g'))].map(([, each]) => each);
      for (const each of names) named.add(each.trim());
      hidden = hidden.replace(
        whole,
        `import type ${all === undefined ? clause.replaceAll(/\btype /g, '') : `* as ${all}`} from '${to}';`,
      );
    }
    if (hidden !== text) await writeFile(file, hidden);
  }
  const types = [...named]
    .sort((a, b) => a.localeCompare(b))
    .map(name => `export type ${name}<_ = unknown> = object;\n`);
  await writeFile(path.join(folder, 'src', 'inner-types.d.ts'), types.join(''));
}
