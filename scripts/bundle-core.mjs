// The plugins of scripts/build.mjs that are about how fast a tick starts: pg without what Node 20 is slow to load, and
// one CommonJS file for all that each tick loads, so that V8 can keep its compiled code (ADR 0023).
import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Replaced in tick.js by the file's name. Ticks of other builds, without this plugin, do not find it. */
const PLACEHOLDER = 'core-00000000.cjs';

/**
 * pg asks whether it runs on Cloudflare by making a Response: Node 20 loads its whole fetch for that, a fifth of an idle
 * tick. And it hashes by WebCrypto, which is another part to load, and slower than node:crypto.
 */
export const leanPg = {
  name: 'lean-pg',
  setup(esbuild) {
    esbuild.onLoad({ filter: /[\\/]node_modules[\\/]pg[\\/]lib[\\/]stream\.js$/ }, async ({ path: file }) => {
      const text = await readFile(file, 'utf8');
      const [question, answer] = ['if (isCloudflareRuntime())', 'if (false)'];
      if (!text.includes(question)) throw new Error(`${file} no longer has ${question}`);
      return { contents: text.replace(question, answer), loader: 'js' };
    });
    esbuild.onLoad({ filter: /[\\/]node_modules[\\/]pg[\\/]lib[\\/]crypto[\\/]utils\.js$/ }, async () => ({
      contents: await readFile(fileURLToPath(new URL('pg-crypto.cjs', import.meta.url)), 'utf8'),
      loader: 'js',
    }));
  },
};

/**
 * Turns the chunk that each tick loads into CommonJS: `core-<hash>.cjs`. The chunk itself becomes a list of its exports,
 * so that all other files import from it as before. Nothing in it may be assigned after it was loaded.
 */
export const core = {
  name: 'core',
  setup(esbuild) {
    const { outdir } = esbuild.initialOptions;
    esbuild.initialOptions.metafile = true;
    esbuild.onEnd(async ({ metafile, errors }) => {
      if (errors.length > 0) return;
      const made = Object.entries(metafile.outputs);
      const [chunk, { exports, imports }] = made.find(([, { inputs }]) => inputs[CORE_SOURCE] !== undefined);
      // It would be bundled into the core too, and there would be two of each class.
      for (const { path: other, kind } of imports)
        if (kind === 'import-statement' && Object.keys(metafile.outputs[other]?.inputs ?? {}).length > 0)
          throw new Error(
            `${Object.keys(metafile.outputs[other].inputs).join(', ')} is in no file with ${CORE_SOURCE}: something that is imported late does not reach that`,
          );
      const file = await writeCore(chunk, imports, outdir);
      const entry = file.replace('.cjs', '-entry.cjs');
      // Without `__esModule`: what turns the files that import it into CommonJS, as Jest does, takes it whole too.
      await writeFile(
        path.join(outdir, entry),
        `const core = require("./${file}");\nmodule.exports = { ...core };\n`,
      );
      await writeFile(chunk, `import core from "./${entry}";\nexport const {${exports.join(',')}} = core;\n`);
      await rm(`${chunk}.map`, { force: true });
      delete metafile.outputs[`${chunk}.map`];
      for (const name of [file, `${file}.map`, entry])
        metafile.outputs[`${outdir}/${name}`] = { inputs: {}, imports: [], exports: [], bytes: 0 };
      await shortenTick({ made, chunk, file, outdir });
    });
  },
};

const CORE_SOURCE = 'src/runtime/tick-command.ts';

/** Bundles the chunk, and the helpers that it imports, as CommonJS. */
async function writeCore(chunk, imports, outdir) {
  const late = new Set(
    imports
      .filter(({ kind, external }) => kind === 'dynamic-import' && !external)
      .map(({ path: to }) => `./${path.basename(to)}`),
  );
  const cases = [...late].map(to => `${JSON.stringify(to)}:()=>import(${JSON.stringify(to)})`);
  const { outputFiles } = await build({
    entryPoints: [chunk],
    outfile: `${outdir}/core.cjs`,
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
    minifySyntax: true,
    supported: { 'template-literal': false },
    sourcemap: 'external',
    sourcesContent: false,
    define: { 'import.meta.url': '__moduleUrl' },
    // A script of V8's has no import() of its own: src/runtime/compile-cache.ts hands it one.
    banner: {
      js: `const __moduleUrl=typeof __filename==="string"?process.getBuiltinModule("url").pathToFileURL(__filename).href:undefined,__late=module.late||(name=>({${cases.join(',')}})[name]?.()??import(name));`,
    },
    plugins: [lateByName(path.resolve(chunk)), builtinsByProcess],
    external: ['pg-native'],
    logLevel: 'warning',
  });
  const text = outputFiles.find(({ path: name }) => name.endsWith('.cjs')).text;
  const map = outputFiles.find(({ path: name }) => name.endsWith('.map')).text;
  const file = `core-${createHash('sha256').update(text).digest('hex').slice(0, 8)}.cjs`;
  await writeFile(path.join(outdir, file), `${text}//# sourceMappingURL=${file}.map\n`);
  await writeFile(path.join(outdir, `${file}.map`), map);
  return file;
}

/** `import(` becomes `__late(`, which is as long, so that the source map still fits. */
const lateByName = chunk => ({
  name: 'late-by-name',
  setup(esbuild) {
    esbuild.onLoad({ filter: /[\\/]chunk-[^\\/]+\.js$/ }, async ({ path: file }) => {
      if (file !== chunk) return null;
      const contents = (await readFile(file, 'utf8')).replaceAll(/(?<![.\w$])import\(/g, '__late(');
      return { contents, loader: 'js' };
    });
  },
});

/**
 * Modules of Node's, without reading exports that nobody asked for: some load more when they are read. An import takes
 * the names that it uses; a require takes the module as it is.
 */
const builtinsByProcess = {
  name: 'builtins-by-process',
  setup(esbuild) {
    esbuild.onResolve(
      { filter: new RegExp(`^(?:node:)?(?:${builtinModules.join('|')})$`) },
      ({ path: name, kind }) => ({
        path: name,
        namespace: kind === 'require-call' ? 'required-builtin' : 'imported-builtin',
        sideEffects: kind === 'require-call',
      }),
    );
    const module = name => `process.getBuiltinModule(${JSON.stringify(name)})`;
    esbuild.onLoad({ filter: /.*/, namespace: 'required-builtin' }, ({ path: name }) => ({
      contents: `module.exports = ${module(name)};`,
      loader: 'js',
    }));
    esbuild.onLoad({ filter: /.*/, namespace: 'imported-builtin' }, ({ path: name }) => ({
      contents: [
        `const all = ${module(name)};`,
        'export default all;',
        ...Object.keys(process.getBuiltinModule(name))
          .filter(key => key !== 'default')
          .map(key => `export const ${key} = /* @__PURE__ */ (() => all.${key})();`),
      ].join('\n'),
      loader: 'js',
    }));
  },
};

/** Fewer files for a tick to find: no entry that only names the chunk, no chunk of helpers that nothing there uses. */
async function shortenTick({ made, chunk, file, outdir }) {
  const only = made.find(([, { entryPoint }]) => entryPoint === CORE_SOURCE)?.[0];
  const helpers = made
    .filter(([, { inputs }]) => Object.keys(inputs).length === 0)
    .map(([name]) => path.basename(name));
  for (const name of ['tick.js', 'index.js']) {
    let text = await readFile(path.join(outdir, name), 'utf8');
    for (const helper of helpers) text = text.replace(new RegExp(`^import "\\./${helper}";\n`, 'm'), '');
    if (only !== undefined) text = text.replace(path.basename(only), path.basename(chunk));
    await writeFile(path.join(outdir, name), text.replace(PLACEHOLDER, file));
  }
}
