// The process that outlives the tests of a run, and removes their server.
import { watchServer } from './watch-server.js';

const [folder, prefix] = process.argv.slice(2);
if (folder !== undefined && prefix !== undefined) await watchServer(folder, prefix);
