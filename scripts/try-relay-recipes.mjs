// Checks the recipes of docs/relay-recipes.md, examples/consumers/recipes/*.ts, against the types of the brokers' clients.
//
//   (cd examples/consumers/recipes && npm ci --ignore-scripts) && node scripts/try-relay-recipes.mjs
//
// The clients are in a package of their own, so that they are no dependency of Tock's development.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const home = path.join(root, 'examples', 'consumers', 'recipes');
if (!existsSync(path.join(home, 'node_modules'))) {
  console.error('the clients are missing: (cd examples/consumers/recipes && npm ci --ignore-scripts)');
  process.exit(2);
}
const recipes = (await readdir(home)).filter(name => name.endsWith('.ts')).sort();
if (recipes.length === 0) throw new Error('examples/consumers/recipes has no recipe');

// Below the package, so that its clients are found.
const folder = path.join(home, 'node_modules', '.recipes');
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
for (const name of recipes) await copyFile(path.join(home, name), path.join(folder, name));
const { compilerOptions } = JSON.parse(await readFile(path.join(root, 'tsconfig.json'), 'utf8'));
await writeFile(
  path.join(folder, 'tsconfig.json'),
  JSON.stringify({
    compilerOptions: {
      ...compilerOptions,
      lib: ['es2024'],
      types: ['node'],
      typeRoots: [path.join(root, 'node_modules', '@types')],
      paths: { 'pg-tock/relay': [path.join(root, 'src', 'relay.ts')] },
    },
    files: recipes,
  }),
);
const tsc = path.join(root, 'node_modules', '.bin', 'tsc');
const { status } = spawnSync(tsc, ['-p', folder], { stdio: 'inherit' });
await rm(folder, { recursive: true, force: true });
if (status !== 0) process.exit(1);
console.log(`checked ${recipes.join(', ')}`);
