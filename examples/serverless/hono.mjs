// Node with Hono, as on Cloud Run: Cloud Scheduler posts to /tick each minute.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { open, stop } from './tock.mjs';

const app = new Hono();
app.on(['GET', 'POST'], '/tick', context => open().tick(context.req.raw));
app.get('/', context => context.text('the app'));
const server = serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: process.env.HOST });

process.once('SIGTERM', () => {
  // A tick that is under way gives back what does not end in time, and is answered.
  stop.abort();
  server.close(() => void open().tock.close());
});
