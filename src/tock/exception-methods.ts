// The methods of `tock.schedules` for a single occurrence.
import type { ExceptionOptions } from '../engine/definitions/except.js';
import type { ExceptionChange, ExceptionRecord } from '../model/planning/exception-record.js';

/**
 * Exceptions: one occurrence that is skipped, or moved. Also for definitions in code. A time is a Date, an
 * ISO instant, or local time in the definition's zone (`2026-03-08T02:30`; `02:30` for today); an occurrence
 * may be named by its day (`2026-03-08`) if it is the only one. Who does it is for whom the Tock acts: see
 * `tock.as`.
 */
export interface ExceptionMethods {
  /**
   * Skips an occurrence that is to come: it gets no run, and a skipped row with the reason `excepted` at its
   * time. In the place of a move, if there is one. Takes the definition's lock, and waits for a tick that
   * materializes it. If it is skipped already, nothing is written unless the note differs.
   * @throws TockError TOCK_NOT_FOUND; TOCK_BAD_TIME for a time that is no occurrence, with those next to it,
   * or that could be several; TOCK_BAD_STATE for one that is due already, with its run, and for a definition
   * without times of its own
   */
  skip(name: string, at: Date | string, options?: ExceptionOptions): Promise<ExceptionChange>;
  /**
   * Moves an occurrence that is to come: its run is due at `to`, earlier or later, without jitter. The run
   * stays that of the occurrence: `scheduledFor`, key and data interval are as they were. It may be moved
   * again until its run is due. An occurrence of `to` itself has a run of its own. Locks as `skip` does.
   * @throws TockError as `skip` does; TOCK_BAD_TIME also for a `to` that has passed, that the clocks skip or
   * show twice, that is outside the definition's window, or that is the occurrence itself
   */
  move(
    name: string,
    from: Date | string,
    to: Date | string,
    options?: ExceptionOptions,
  ): Promise<ExceptionChange>;
  /**
   * Takes back a skip or a move, before its time and before that of the occurrence; resolves to what it was.
   * @throws TockError as `skip` does; TOCK_NOT_FOUND also for an occurrence that is neither skipped nor moved
   */
  restore(name: string, at: Date | string): Promise<ExceptionRecord>;
  /** The exceptions of a definition that are to come, by occurrence. @throws TockError TOCK_NOT_FOUND */
  exceptions(name: string): Promise<ExceptionRecord[]>;
}
