import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { dashboard, port } from './tock.mjs';

class AppController {
  index() {
    return 'the app';
  }
}
// In TypeScript: @Controller(), @Get() and @Module({ controllers: [AppController] }).
Controller()(AppController);
Get()(AppController.prototype, 'index', Object.getOwnPropertyDescriptor(AppController.prototype, 'index'));
// oxlint-disable-next-line typescript/no-extraneous-class -- that is what a module of Nest's is
class AppModule {}
Module({ controllers: [AppController] })(AppModule);

const app = await NestFactory.create(AppModule, { logger: ['error'] });
app.use('/admin/tock', (request, response) => {
  void dashboard.listener(request, response);
});
await app.listen(port, '127.0.0.1');
