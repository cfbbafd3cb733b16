// What comes before the claims of a tick: it reaps and materializes in parts, with claims in between.
// So what is due already waits neither for a long backlog nor for a slow database.
import type { IsOver } from '../model/clock.js';
import type { ReapedRuns } from '../store/runs/reap/reap.js';
import type { Engine } from './engine.js';
import { type MaterializeResult, materialize } from './materialize/materialize.js';
import { type Reaping, reap } from './reap.js';

export interface Preparation {
  /** The first part. Returns what reaping has found. */
  begin(): Promise<Reaping>;
  /** The next part of what is left. */
  goOn(): Promise<void>;
  /** Something is left, as far as it is known. */
  readonly isMore: boolean;
  /** By all parts so far. */
  readonly reaped: ReapedRuns;
  readonly materialized: MaterializeResult;
}

/** @param bound begins a part of a step */
export function createPreparation(engine: Engine, bound: () => IsOver): Preparation {
  let reaped: ReapedRuns = { failed: 0, dead: 0, cancelled: 0 };
  let materialized: MaterializeResult = { definitions: 0, runs: 0, skips: 0, broken: [] };
  let mustReap = true;
  let mustMaterialize = true;
  const reapOn = async () => {
    const reaping = await reap(engine, bound());
    mustReap = reaping.isMore;
    const { failed, dead, cancelled } = reaping.reaped;
    reaped = {
      failed: reaped.failed + failed,
      dead: reaped.dead + dead,
      cancelled: reaped.cancelled + cancelled,
    };
    return reaping;
  };
  const materializeOn = async () => {
    const { isMore, definitions, runs, skips, broken } = await materialize(engine, { isOver: bound() });
    mustMaterialize = isMore;
    materialized = {
      definitions: materialized.definitions + definitions,
      runs: materialized.runs + runs,
      skips: materialized.skips + skips,
      broken: [...materialized.broken, ...broken],
    };
  };
  return {
    async begin() {
      const reaping = await reapOn();
      await materializeOn();
      return reaping;
    },
    async goOn() {
      if (mustReap) await reapOn();
      if (mustMaterialize) await materializeOn();
    },
    get isMore() {
      return mustReap || mustMaterialize;
    },
    get reaped() {
      return reaped;
    },
    get materialized() {
      return materialized;
    },
  };
}
