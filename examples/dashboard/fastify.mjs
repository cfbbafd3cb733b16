import fastify from 'fastify';
import { dashboard, port } from './tock.mjs';

const app = fastify();
await app.register(async scope => {
  // The dashboard reads its forms itself.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
  for (const path of ['/admin/tock', '/admin/tock/*']) {
    scope.all(path, async (request, reply) => {
      reply.hijack();
      await dashboard.listener(request.raw, reply.raw);
    });
  }
});
app.get('/', () => 'the app');
await app.listen({ port, host: '127.0.0.1' });
