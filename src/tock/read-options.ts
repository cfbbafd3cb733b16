// The options of createTock, read and checked.
import type { Pool } from 'pg';
import type { Settings } from '../engine/engine.js';
import type { Isolation } from '../engine/execute/isolate/isolation.js';
import type { Tracing } from '../engine/tracing/tracing.js';
import type { Alerting } from '../model/alerts/read-alerts.js';
import type { Clock } from '../model/clock.js';
import type { Registry } from '../model/job/registry.js';
import type { Logger } from '../model/logger.js';
import type { TockOptions } from './options.js';

/** What createTock takes, with the pool as what it is. */
export type OptionsWithPool = Omit<TockOptions, 'pool'> & { readonly pool?: Pool };

/** What createTock has read and checked. */
export interface ReadOptions {
  readonly clock: Clock;
  readonly registry: Registry;
  readonly settings: Settings;
  readonly statementTimeoutMs: number;
  readonly isolation: Isolation | null;
  readonly alerting: Alerting | undefined;
  readonly logger: Logger;
  readonly tracing: Tracing | null;
  /** Whose ticks they are: a program's, or an app's. */
  readonly kind: 'tick' | 'library';
}
