import { createServer } from 'node:http';
import pg from 'pg';
import { createApp, port, report } from './tock.mjs';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
const tock = createApp({ pool });
const answer = async ({ method }, response) =>
  response.end(method === 'POST' ? await tock.enqueue(report) : 'the app');
const server = createServer((request, response) => void answer(request, response));

const daemon = await tock.start();
server.listen(port, '127.0.0.1');

async function stop() {
  const drained = daemon.stop();
  await new Promise(resolve => server.close(resolve));
  await drained;
  await tock.close();
  // The pool is the app's own: it ends after Tock, which writes the outcomes of its last runs over it.
  await pool.end();
}
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void stop());
