// Room: testing. The process that outlives the tests of a run, and cleans up after them.
// In: the folder of a server, and the prefix of all such folders. Out: no server.
import { watchServer } from './watch-server.js';

const [folder, prefix] = process.argv.slice(2);
if (folder !== undefined && prefix !== undefined) await watchServer(folder, prefix);
