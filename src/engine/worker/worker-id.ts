// The id of a worker: of no other one, and of its deploy.
import { randomUUID } from 'node:crypto';
import { workerIdOf } from '../../model/deploys/deploys.js';
import type { Engine } from '../engine.js';

export const newWorkerId = ({ settings }: Pick<Engine, 'settings'>): string =>
  workerIdOf(randomUUID(), settings.deploy);
