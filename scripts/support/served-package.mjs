// Packs the project, and serves it as a registry does: there `npm install pg-tock` installs what is packed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

/** What a user's shell has, without the settings of this one. */
export const cleanEnvironment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(DATABASE_URL|TOCK_|PG|npm_|NODE_)/.test(name)),
);

/** Packs what is built. @returns the tarball's path in the folder */
export function packBuilt(folder) {
  if (!existsSync(path.join(root, 'dist', 'cli.js'))) throw new Error('there is no build: npm run build');
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
  const { status, stdout, stderr } = spawnSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    env: cleanEnvironment,
  });
  if (status !== 0) throw new Error(`npm pack: ${stdout}${stderr}`);
  return path.join(folder, stdout.trim().split('\n').at(-1));
}

/** Serves the tarball as the newest version of its package; every other package comes from npm's own registry. */
export async function servePackage(tarball) {
  const bytes = await readFile(tarball);
  const manifest = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  const { name, version } = manifest;
  const upstream = spawnSync('npm', ['config', 'get', 'registry'], {
    encoding: 'utf8',
    env: cleanEnvironment,
  }).stdout.trim();
  const file = `${name}/-/${path.basename(tarball)}`;
  const digest = (algorithm, encoding) => createHash(algorithm).update(bytes).digest(encoding);
  const server = createServer((request, response) => {
    const asked = decodeURIComponent((request.url ?? '/').slice(1));
    if (asked === file) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes);
    } else if (asked === name) {
      const dist = {
        tarball: `${address()}/${file}`,
        integrity: `sha512-${digest('sha512', 'base64')}`,
        shasum: digest('sha1', 'hex'),
      };
      const document = {
        name,
        'dist-tags': { latest: version },
        versions: { [version]: { ...manifest, dist } },
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
    } else {
      response.writeHead(307, { location: new URL((request.url ?? '/').slice(1), upstream).href }).end();
    }
  });
  const address = () => `http://127.0.0.1:${server.address().port}`;
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    /** For npm: this registry, and nothing printed but what was asked for. */
    env: {
      npm_config_registry: address(),
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      npm_config_progress: 'false',
      // Warnings about this machine's own settings.
      npm_config_loglevel: 'error',
    },
    close() {
      server.closeAllConnections();
      return new Promise(resolve => server.close(resolve));
    },
  };
}
