// A plugin of scripts/build.mjs: puts the names and texts of migrations/*.sql into the bundles, in place of the two files
// in src/store/schema that read that folder. So an installation, or an app that bundles Tock, never reads a folder for them.
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../migrations/', import.meta.url));

export const embedMigrations = {
  name: 'embed-migrations',
  setup(esbuild) {
    const load = (file, makeContents) =>
      esbuild.onLoad(
        { filter: new RegExp(`[\\\\/]src[\\\\/]store[\\\\/]schema[\\\\/]${file}\\.ts$`) },
        async () => {
          const names = (await readdir(FOLDER)).filter(name => /^\d{4}_[\w-]+\.sql$/.test(name)).sort();
          // `npm run dev` builds again when one changes.
          const watchFiles = names.map(name => path.join(FOLDER, name));
          return { contents: await makeContents(names), loader: 'js', watchFiles, watchDirs: [FOLDER] };
        },
      );
    load('migration-names', names => `export const MIGRATION_NAMES = ${JSON.stringify(names)};`);
    load('migration-texts', async names => {
      const texts = names.map(async name => ({
        name,
        text: await readFile(path.join(FOLDER, name), 'utf8'),
      }));
      return `export const MIGRATION_TEXTS = ${JSON.stringify(await Promise.all(texts))};`;
    });
  },
};
