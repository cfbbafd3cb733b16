// Builds the site into dist/: `npm run build`. With --dev it serves the pages instead, until Ctrl-C.
// In: the documents of the repository and the exported types of src/. Dead links are errors.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Application } from 'typedoc';
import { build, createServer } from 'vitepress';
import { assemble } from './assemble.mjs';

const site = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(site, '..');
process.chdir(site);

await assemble({ root, site });
await writeApi();
if (process.argv.includes('--dev')) {
  const server = await createServer(site);
  await server.listen();
  server.printUrls();
} else {
  await build(site);
}

/** The reference of all exported types and functions, one page each. */
async function writeApi() {
  const app = await Application.bootstrapWithPlugins({
    entryPoints: ['index', 'testing', 'adapters', 'dashboard', 'http'].map(name =>
      path.join(root, 'src', `${name}.ts`),
    ),
    tsconfig: path.join(site, 'tsconfig.json'),
    plugin: ['typedoc-plugin-markdown', './typedoc-names.mjs'],
    out: path.join(site, 'pages', 'api'),
    name: 'API',
    readme: 'none',
    excludePrivate: true,
    excludeInternal: true,
    excludeExternals: true,
    disableSources: true,
    // `npm run typecheck` checks them, with a newer compiler.
    skipErrorChecking: true,
    logLevel: 'Warn',
    router: 'member',
    entryFileName: 'index',
    hidePageHeader: true,
    hideBreadcrumbs: true,
    useCodeBlocks: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'list',
    propertyMembersFormat: 'list',
    typeDeclarationFormat: 'list',
    formatWithPrettier: false,
  });
  const project = await app.convert();
  if (project === undefined) throw new Error('typedoc could not read the exported types');
  await app.generateOutputs(project);
  if (app.logger.hasErrors()) throw new Error('typedoc could not write the reference');
  await writeFile(path.join(site, 'pages', 'api.json'), JSON.stringify(await listApi()));
}

/** The reference in the sidebar: modules, and in each its functions, classes and types. */
async function listApi() {
  const api = path.join(site, 'pages', 'api');
  const files = (await readdir(api, { recursive: true })).map(name => name.replaceAll('\\', '/')).sort();
  const folders = [
    ...new Set(files.filter(name => name.endsWith('.md')).map(name => path.posix.dirname(name))),
  ];
  return await Promise.all(
    folders.map(async folder => ({
      folder,
      pages: await Promise.all(
        files
          .filter(name => path.posix.dirname(name) === folder && name.endsWith('.md'))
          .map(async name => ({
            name,
            title: /^# (.+)$/m.exec(await readFile(path.join(api, name), 'utf8'))?.[1] ?? name,
          })),
      ),
    })),
  );
}
