// The process: the HTTP server and the worker, on one pool.
import pg from 'pg';
import { createTock } from 'pg-tock';
import { jobs } from '../jobs/index.js';
import { createTables, openDatabase } from './database.js';
import { createApp } from './server.js';

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] });
// A connection that breaks while it is idle is replaced; without a listener it would end the process.
pool.on('error', error => process.stderr.write(`${error.message}\n`));
const db = openDatabase(pool);
const tock = createTock({ pool, jobs });
await createTables(db);
await tock.migrate();

const server = createApp({ db, tock }).listen(Number(process.env['PORT'] ?? 3000));
const worker = await tock.start({ concurrency: 10 });
process.stdout.write('the server and the worker are up\n');

const stop = async () => {
  server.close();
  // Lets running jobs end, or gives them back to the queue.
  await worker.stop();
  await tock.close();
  await pool.end();
};
for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => void stop());
