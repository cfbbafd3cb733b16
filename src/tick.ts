// One tick, as the system crontab calls it: `node dist/tick.js`. See runtime/tick-command.ts.

// As in Node 21 and later. pg asks it whether this is Cloudflare; where it is missing, pg loads all of fetch
// to find out.
if (!('navigator' in globalThis))
  Object.assign(globalThis, { navigator: { userAgent: `Node.js/${process.versions.node.split('.')[0]}` } });
const { tickMain } = await import('./runtime/tick-command.js');
await tickMain(process.argv.slice(2));
