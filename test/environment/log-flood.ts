// A process that logs more than its file may hold, and one line more when it is told to.
// In: a text on standard input. Out: lines on standard error; `flooded` on standard output.
import { createLogger } from '../../src/environment/logger.js';

const logger = createLogger();
for (let line = 0; line < 40; line++) logger.warn({ event: 'flood', line }, 'one of many');
process.stdout.write('flooded\n');
process.stdin.once('data', () => {
  logger.warn({ event: 'after' }, 'there is room');
  process.stdin.destroy();
});
