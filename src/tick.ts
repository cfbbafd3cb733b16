// One tick, as the system crontab calls it: `node dist/tick.js`. See runtime/tick-command.ts.
import { fileURLToPath } from 'node:url';

// As in Node 21 and later. pg asks it whether this is Cloudflare; where it is missing, pg loads all of fetch
// to find out.
if (!('navigator' in globalThis))
  Object.assign(globalThis, { navigator: { userAgent: `Node.js/${process.versions.node.split('.')[0]}` } });
// Since Node 22.8: the next tick finds code compiled. Where the folder cannot be written, it compiles again.
const { enableCompileCache } = process.getBuiltinModule('module') as {
  readonly enableCompileCache?: (folder: string) => unknown;
};
enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/pg-tock', import.meta.url)));
const { tickMain } = await import('./runtime/tick-command.js');
await tickMain(process.argv.slice(2));
