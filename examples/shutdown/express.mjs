import express from 'express';
import { createApp, port, report } from './tock.mjs';

const tock = createApp();
const app = express();
app.get('/', (_request, response) => response.send('the app'));
app.post('/reports', async (_request, response) => response.send(await tock.enqueue(report)));

const daemon = await tock.start();
const server = app.listen(port, '127.0.0.1');

async function stop() {
  // At once: it claims no more, and its runs end, or are given back.
  const drained = daemon.stop();
  // Meanwhile: requests under way are answered, and may still enqueue.
  await new Promise(resolve => server.close(resolve));
  await drained;
  // Last: Tock's own connections.
  await tock.close();
}
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void stop());
