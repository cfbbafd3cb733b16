// An engine as a process has it, over a database that a test may watch or break.
import { type Engine, readSettings } from '../../src/engine/engine.js';
import { systemClock } from '../../src/environment/system-clock.js';
import type { AnyJob } from '../../src/model/job/job.js';
import { createRegistry } from '../../src/model/job/registry.js';
import { silentLogger } from '../../src/model/logger.js';
import type { Database } from '../../src/store/connection/database.js';

/** Without a Tock, handlers have no methods of one. */
export const noMethods = (): never => {
  throw new Error('this engine has no Tock');
};

/** Silent, in real time, with default settings, no hooks and no workers. */
export const engineOver = (
  database: Database,
  jobs: readonly AnyJob[] = [],
  more: Partial<Engine> = {},
): Engine => ({
  clock: systemClock,
  database,
  registry: createRegistry(jobs),
  logger: silentLogger,
  settings: readSettings({}),
  isolation: null,
  hooks: {},
  forHandlers: noMethods,
  wakeHost: () => undefined,
  operator: null,
  appName: null,
  workers: new Set(),
  ...more,
});
