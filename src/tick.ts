// One tick, as the system crontab calls it: `node dist/tick.js`. See runtime/tick-command.ts.
import { keepCompiled } from './runtime/compile-cache.js';

const argv = process.argv.slice(2);
keepCompiled(!argv.includes('--help') && !argv.includes('-h'));
// Loaded after that, so that it comes from the cache.
const { tickMain } = await import('./runtime/tick-command.js');
await tickMain(argv);
