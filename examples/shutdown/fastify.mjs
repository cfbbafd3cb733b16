import fastify from 'fastify';
import { createApp, port, report } from './tock.mjs';

const tock = createApp();
const app = fastify();
app.get('/', () => 'the app');
app.post('/reports', async () => await tock.enqueue(report));

let daemon;
let drained;
app.addHook('onReady', async () => {
  daemon = await tock.start();
});
// Before it refuses requests: the daemon claims no more.
app.addHook('preClose', async () => {
  drained = daemon?.stop();
});
// After the last answer.
app.addHook('onClose', async () => {
  await drained;
  await tock.close();
});
await app.listen({ port, host: '127.0.0.1' });

for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void app.close());
