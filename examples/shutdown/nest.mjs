import 'reflect-metadata';
import { Controller, Get, Injectable, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createApp, port, report } from './tock.mjs';

const tock = createApp();

/** Nest calls these in their order: before it closes its server, and after. */
class Scheduler {
  async onApplicationBootstrap() {
    this.daemon = await tock.start();
  }

  beforeApplicationShutdown() {
    this.drained = this.daemon?.stop();
  }

  async onApplicationShutdown() {
    await this.drained;
    await tock.close();
  }
}
class AppController {
  index() {
    return 'the app';
  }

  async report() {
    return await tock.enqueue(report);
  }
}
// In TypeScript: @Injectable(), @Controller(), @Get(), @Post('reports') and @Module({ … }).
const describe = (name, decorate) =>
  decorate(AppController.prototype, name, Object.getOwnPropertyDescriptor(AppController.prototype, name));
Injectable()(Scheduler);
Controller()(AppController);
describe('index', Get());
describe('report', Post('reports'));
// oxlint-disable-next-line typescript/no-extraneous-class -- that is what a module of Nest's is
class AppModule {}
Module({ controllers: [AppController], providers: [Scheduler] })(AppModule);

const app = await NestFactory.create(AppModule, { logger: ['error'] });
// Without this, Nest calls no hooks on a signal.
app.enableShutdownHooks();
await app.listen(port, '127.0.0.1');
