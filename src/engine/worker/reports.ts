// Writes what attempts report and must be written before their outcome, which ends the lease: progress,
// cursors, log lines, and the spans to which following runs are linked.

import type { UnwrittenLog } from '../../model/run/log/run-log.js';
import { isPartitionMissing, isUnstorable } from '../../store/connection/errors.js';
import { keepCursors } from '../../store/runs/effects.js';
import { writeProgress } from '../../store/runs/leases.js';
import { type LogEntry, writeLogs } from '../../store/runs/logs/write-logs.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from '../execute/active-run.js';
import { writeSpans } from '../execute/spans.js';

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

// Writes the progress and the cursors that handlers have reported, in one statement each.

/**
 * Progress stays with its run until it is written: an attempt that ends meanwhile writes it once more, before
 * its outcome gives up the lease. If this fails, the next flush writes it.
 */
export async function flushProgress(
  engine: Engine,
  workerId: string,
  activeRuns: Iterable<ActiveRun>,
): Promise<void> {
  const pending = [...activeRuns].flatMap(active => {
    const { progress, run } = active;
    if (progress === null || active.isLost || active.isCommitted) return [];
    return [{ id: run.id, fence: run.fence, progress, active }];
  });
  if (pending.length === 0) return;
  try {
    await writeProgress(engine.database, pending, workerId);
  } catch (error) {
    if (!isUnstorable(error)) return;
  }
  for (const { active, progress } of pending) if (active.progress === progress) active.progress = null;
}

/** As flushProgress, for cursors: the end of the attempt writes them under the same numbers. */
export async function flushCursors(
  engine: Engine,
  workerId: string,
  activeRuns: Iterable<ActiveRun>,
): Promise<void> {
  const pending = [...activeRuns].flatMap(active => {
    const { cursors, run } = active;
    if (cursors === null || active.isLost || active.isCommitted) return [];
    return [{ id: run.id, fence: run.fence, cursors: new Map(cursors), active }];
  });
  if (pending.length === 0) return;
  try {
    await keepCursors(engine.database, pending, workerId);
  } catch (error) {
    if (!isUnstorable(error)) return;
    const runs = pending.map(({ id }) => id);
    engine.logger.error(
      { event: 'cursor.refused', runs, error: String(error) },
      `PostgreSQL refused the cursors of runs ${runs.join(', ')}: their next attempts begin with older ones`,
    );
  }
  for (const { active, cursors } of pending) {
    for (const [key, written] of cursors)
      if (active.cursors?.get(key) === written) active.cursors.delete(key);
    if (active.cursors?.size === 0) active.cursors = null;
  }
}

// Writes the lines that handlers have logged: with each heartbeat, and before an attempt's outcome. There is
// one statement at a time, for all attempts that wait.

const MAX_RUNS = 500;
/** The most characters in one statement. The last log may exceed it. */
const MAX_TEXT = 4 * 1024 * 1024;

interface Waiting {
  readonly active: ActiveRun;
  readonly done: () => void;
}

interface Entry extends LogEntry {
  readonly active: ActiveRun;
  readonly unwritten: UnwrittenLog;
}

export class LogWriter {
  private readonly engine: Engine;
  private readonly workerId: string;
  private waiting: Waiting[] = [];
  private isWriting = false;
  /** A series of failed writes is logged once. */
  private isFailing = false;

  constructor(engine: Engine, workerId: string) {
    this.engine = engine;
    this.workerId = workerId;
  }

  /**
   * Writes the lines that are not written yet. Resolves when they are written or refused, or the lease is
   * lost. Never rejects: lines that could not be written wait for the next call.
   */
  async flush(activeRuns: Iterable<ActiveRun>): Promise<void> {
    const flushed: Promise<void>[] = [];
    for (const active of activeRuns) {
      if (active.log === null || active.isLost || !active.log.hasUnwritten) continue;
      flushed.push(new Promise(done => this.waiting.push({ active, done })));
    }
    if (flushed.length === 0) return;
    void this.writeWaiting();
    await Promise.all(flushed);
  }

  private async writeWaiting(): Promise<void> {
    if (this.isWriting) return;
    this.isWriting = true;
    // Attempts that end at the same time join this statement.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const { entries, dones } = this.nextBatch();
      for (const isCommitted of [false, true]) {
        const part = entries.filter(({ active }) => active.isCommitted === isCommitted);
        if (part.length > 0) await this.write(part, isCommitted);
      }
      for (const done of dones) done();
    }
    this.isWriting = false;
  }

  private nextBatch(): { readonly entries: readonly Entry[]; readonly dones: readonly (() => void)[] } {
    const entries = new Map<string, Entry>();
    const dones: (() => void)[] = [];
    const now = this.engine.clock.now();
    let text = 0;
    while (this.waiting.length > 0 && entries.size < MAX_RUNS && text < MAX_TEXT) {
      const { active, done } = this.waiting[0] as Waiting;
      const { log, run } = active;
      // The batch has another attempt of this run.
      if (entries.has(run.id) && entries.get(run.id)?.active !== active) break;
      this.waiting.shift();
      dones.push(done);
      if (log === null || active.isLost || !log.hasUnwritten || entries.has(run.id)) continue;
      const unwritten = log.unwritten(now);
      text += unwritten.head.length + unwritten.tail.length;
      entries.set(run.id, { id: run.id, fence: run.fence, segment: log.segment, unwritten, active });
    }
    return { entries: [...entries.values()], dones };
  }

  private async write(entries: readonly Entry[], isCommitted: boolean, isRepeated = false): Promise<void> {
    try {
      const written = await writeLogs(this.engine.database, entries, this.workerId, isCommitted);
      const segments = new Map(written.map(({ id, segment }) => [id, segment]));
      for (const { active, unwritten } of entries) {
        active.log?.noteWritten(unwritten);
        if (active.log) active.log.segment = segments.get(active.run.id) ?? active.log.segment;
      }
      this.isFailing = false;
    } catch (error) {
      await this.writeOtherwise(entries, isCommitted, isRepeated, error);
    }
  }

  private async writeOtherwise(
    entries: readonly Entry[],
    isCommitted: boolean,
    isRepeated: boolean,
    error: unknown,
  ): Promise<void> {
    // The attempt has lasted so long that retention has dropped the segment in which it began.
    if (isPartitionMissing(error) && !isRepeated) {
      const anew = entries.map(entry => {
        entry.active.log?.noteGone();
        const unwritten = entry.active.log?.unwritten(this.engine.clock.now()) ?? entry.unwritten;
        return { ...entry, segment: null, unwritten };
      });
      return await this.write(anew, isCommitted, true);
    }
    if (isUnstorable(error) && entries.length > 1) {
      for (const entry of entries) await this.write([entry], isCommitted);
      return;
    }
    // The lines would be refused again.
    if (isUnstorable(error)) for (const { active, unwritten } of entries) active.log?.noteWritten(unwritten);
    if (!this.isFailing)
      this.engine.logger.warn(
        { event: 'log.unwritten', runs: entries.length, error: String(error) },
        'lines that runs have logged could not be written; they are tried again while the runs last',
      );
    this.isFailing = true;
  }
}
