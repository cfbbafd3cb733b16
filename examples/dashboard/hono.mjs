import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { dashboard, port } from './tock.mjs';

const app = new Hono();
app.all('/admin/tock', context => dashboard.fetch(context.req.raw));
app.all('/admin/tock/*', context => dashboard.fetch(context.req.raw));
app.get('/', context => context.text('the app'));
serve({ fetch: app.fetch, port, hostname: '127.0.0.1' });
