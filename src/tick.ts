// One tick, as the system crontab calls it: `node dist/tick.js`. See runtime/tick-command.ts.
import { keepCompiled } from './runtime/compile-cache.js';

keepCompiled();
// Loaded after that, so that it comes from the cache.
const { tickMain } = await import('./runtime/tick-command.js');
process.exitCode = await tickMain(process.argv.slice(2));
