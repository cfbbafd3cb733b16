// Writes what attempts report and must be written before their outcome, which ends the lease: progress, cursors,
// log lines, and the spans to which following runs are linked.
import type { Engine } from '../engine.js';
import type { ActiveRun } from '../execute/active-run.js';
import { writeSpans } from '../execute/spans.js';
import { LogWriter } from './log-writer.js';
import { flushCursors, flushProgress } from './progress.js';

export class Reports {
  readonly logs: LogWriter;
  private readonly engine: Engine;
  private readonly workerId: string;

  constructor(engine: Engine, workerId: string) {
    this.engine = engine;
    this.workerId = workerId;
    this.logs = new LogWriter(engine, workerId);
  }

  /** Never rejects: reports that could not be written wait for the next call. */
  async flush(actives: readonly ActiveRun[]): Promise<void> {
    await Promise.all([
      flushProgress(this.engine, this.workerId, actives),
      flushCursors(this.engine, this.workerId, actives),
      this.logs.flush(actives),
      this.flushSpans(actives),
    ]);
  }

  /** If this fails, following runs have no link. Nothing else depends on it. */
  private async flushSpans(actives: readonly ActiveRun[]): Promise<void> {
    const { engine, workerId } = this;
    await writeSpans(engine.database, engine, workerId, actives).catch((error: unknown) =>
      engine.logger.debug(
        { event: 'span.unwritten', runs: actives.length, error: String(error) },
        'the spans of runs could not be written; what follows from them is not linked to them',
      ),
    );
  }
}
