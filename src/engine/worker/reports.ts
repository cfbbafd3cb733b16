// What attempts report, as far as it must be written before their outcome, which ends the lease: progress and
// lines of their logs.
import type { Engine } from '../engine.js';
import type { ActiveRun } from '../execute/active-run.js';
import { LogWriter } from './log-writer.js';
import { flushProgress } from './progress.js';

export class Reports {
  readonly logs: LogWriter;
  private readonly engine: Engine;
  private readonly workerId: string;

  constructor(engine: Engine, workerId: string) {
    this.engine = engine;
    this.workerId = workerId;
    this.logs = new LogWriter(engine, workerId);
  }

  /** Never rejects: what could not be written waits for the next call. */
  async flush(actives: readonly ActiveRun[]): Promise<void> {
    await Promise.all([flushProgress(this.engine, this.workerId, actives), this.logs.flush(actives)]);
  }
}
