// The files that a browser loads: one style sheet and one script, named by their content, cached forever.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { packageFolder } from '../environment/paths.js';
import { TockError } from '../model/errors.js';

export interface Asset {
  /** `/assets/tock-0123456789ab.css` */
  readonly path: string;
  readonly type: string;
  readonly content: string;
  /** By gzip. */
  readonly compressed: () => Uint8Array<ArrayBuffer>;
}

export interface Assets {
  readonly style: Asset;
  readonly script: Asset;
  readonly icon: Asset;
}

/** Beside this file in src/, and beside the bundles in dist/. Never a folder of an app that bundles Tock. */
function assetsFolder(): string {
  if (packageFolder() !== null) return fileURLToPath(new URL('./assets/', import.meta.url));
  throw new TockError(
    'TOCK_BAD_OPTION',
    'the dashboard reads files of pg-tock, but pg-tock is bundled into this app; leave it out of the bundle (esbuild: --external:pg-tock)',
  );
}

/**
 * Reads the files of src/dashboard/assets: base.css, then the other sheets by name; htmx, then tock.js.
 * @throws TockError TOCK_BAD_OPTION in an app that bundles Tock
 */
export function readAssets(): Assets {
  const sheets = readdirSync(assetsFolder()).filter(name => name.endsWith('.css') && name !== 'base.css');
  const style = ['base.css', ...sheets.sort()].map(readAsset).join('\n');
  const script = [readHtmx(), readAsset('tock.js')].join('\n;');
  return {
    style: asset('tock', 'css', 'text/css; charset=utf-8', style),
    script: asset('tock', 'js', 'text/javascript; charset=utf-8', script),
    icon: asset('icon', 'svg', 'image/svg+xml', readAsset('icon.svg')),
  };
}

const readAsset = (name: string) => readFileSync(path.join(assetsFolder(), name), 'utf8');

/** The build copies it; the sources find it in its package. */
function readHtmx(): string {
  const copy = path.join(assetsFolder(), 'htmx.min.js');
  const file = existsSync(copy) ? copy : createRequire(import.meta.url).resolve('htmx.org/dist/htmx.min.js');
  return readFileSync(file, 'utf8').replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, '');
}

function asset(name: string, extension: string, type: string, content: string): Asset {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
  let gzip: Uint8Array<ArrayBuffer> | null = null;
  const compressed = () => (gzip ??= Uint8Array.from(gzipSync(content)));
  return { path: `/assets/${name}-${hash}.${extension}`, type, content, compressed };
}
