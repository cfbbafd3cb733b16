#!/usr/bin/env node
// The command `tock`. All else is imported late: the build puts a look at Node's version before this
// (scripts/build.mjs), which an older Node would not come to if it could not link the imports.
// See src/tick.ts.
if (!('navigator' in globalThis))
  Object.assign(globalThis, { navigator: { userAgent: `Node.js/${process.versions.node.split('.')[0]}` } });
const { run } = await import('./run.js');
await run(process.argv.slice(2));
