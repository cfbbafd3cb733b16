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
  await withoutTypesOfPg(folder);
  await cp(folder, commonJs, { recursive: true });
  await writeFile(path.join(commonJs, 'package.json'), `${JSON.stringify({ type: 'commonjs' })}\n`);
}

/** Inner parts name classes of pg's, whose declarations an app may lack: nothing that a user calls takes or gives them. */
async function withoutTypesOfPg(folder) {
  const FROM_PG = /\bfrom (['"])pg\1/;
  const named = new Set();
  for (const name of await readdir(folder, { recursive: true })) {
    const file = path.join(folder, name);
    if (!name.endsWith('.d.ts')) continue;
    const text = await readFile(file, 'utf8');
    if (!FROM_PG.test(text)) continue;
    for (const [, list] of text.matchAll(/import (?:type )?(?:\w+, )?\{([^}]*)\} from (['"])pg\2/g))
      for (const each of list.split(',')) named.add(each.replace(/\btype\b/, '').trim());
    for (const [, each] of text.matchAll(/\bpg\.(\w+)/g)) named.add(each);
    const to = path.relative(path.dirname(file), path.join(folder, 'src', 'pg-types.js'));
    await writeFile(file, text.replace(FROM_PG, `from '${to.startsWith('.') ? to : `./${to}`}'`));
  }
  const types = [...named].sort().map(name => `export type ${name} = object;\n`);
  await writeFile(path.join(folder, 'src', 'pg-types.d.ts'), types.join(''));
}
