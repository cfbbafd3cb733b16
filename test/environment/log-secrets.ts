// A process that logs what holds a connection string, in every place of a line.
// In: FORMAT and DSN. Out: lines on standard error.
import { createLogger } from '../../src/environment/logger.js';

const { FORMAT: format, DSN: dsn } = process.env;
const logger = createLogger({ level: 'error', format: format === 'pretty' ? 'pretty' : 'json' });
logger.error({ event: 'run.failed' }, `cannot reach ${dsn}`);
logger.error({ error: String(new Error(`no route to ${dsn}`)) }, 'failed');
logger.error({ nested: { list: [dsn, 'password=s3cret'] } }, 'failed');
logger.error({ err: new Error(`to ${dsn}`) }, 'failed');
logger.child({ from: dsn }).error({ event: 'child' }, 'failed');
