// The limits of a queue: as people state them, as they are stored, and what lies on top of the code.
import type { Duration } from '../duration.js';
import type { FairOption, FairScope, KeyRate } from '../job/fair/fair.js';

/** The `relay` of a queue whose runs ticks and daemons offer to workers that speak SQL. */
export const SQL_RELAY = 'sql';

/** Limits of a queue, over all hosts. Absent ones stay as they are; null removes a limit. */
export interface QueueLimits {
  /** Most runs at once; 0 lets none start. */
  readonly concurrency?: number | null;
  /**
   * Most starts per period, such as `{ count: 100, per: '1m' }`: spread evenly, one every 600ms; unused
   * starts are kept for one second at most.
   */
  readonly rate?: { readonly count: number; readonly per: Duration } | null;
  /** Local hours in which runs may start, such as `23:00-06:00`. */
  readonly window?: string | null;
  /** The zone of those hours: an IANA name. Default UTC. */
  readonly timezone?: string;
  /**
   * The broker to which a relay hands its runs off, such as `rabbitmq`: then only workers that name the
   * queue claim from it. `sql`: ticks and daemons offer its runs to workers that call `tock.claim`. Null:
   * all workers execute its runs.
   */
  readonly relay?: string | null;
  /**
   * Where the key is in the payloads by which its runs share the workers, such as `'$.tenant'`; with `limit`
   * and `rate` of each key, an object. For jobs that state no key of their own, and for runs that are
   * enqueued from now on.
   */
  readonly fair?: string | QueueFair | null;
}

/** `fair` of a queue. */
export interface QueueFair extends FairOption {
  readonly rate?: KeyRate;
}

/** All that may be set of a queue, as it is stored. */
export interface QueueSettings {
  /** Most runs at once; null: no limit. */
  readonly concurrency: number | null;
  /** Most starts per period; null: no limit. */
  readonly rate: { readonly count: number; readonly perMs: number } | null;
  /** Local hours in which its runs may start; null: all. */
  readonly window: string | null;
  /** The zone of those hours. */
  readonly timezone: string;
  /** The broker to which a relay hands its runs off; null: workers execute them. */
  readonly relay: string | null;
  /** By which key its runs share the workers; null: by none. */
  readonly fair: FairScope | null;
}
/** One of them. */
export type QueueSetting = keyof QueueSettings;

/** That an operator has set something of a queue that is in code. What was set is what holds. */
export interface QueueOverride {
  /** The operator; null: it was set before the queue was in code. */
  readonly by: string | null;
  /** When it ends by itself, and what code states holds again; null: when it is reset. */
  readonly until: Date | null;
}
/** By what was set. */
export type QueueOverrides = { readonly [Setting in QueueSetting]?: QueueOverride };
