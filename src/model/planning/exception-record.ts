// Exceptions as people see them, and in words.
import { instantText } from '../explain/local-clock.js';
import type { Zone } from '../schedule/zone/zone.js';
import type { Exception, ExceptionKind } from './exceptions.js';

/** One occurrence that an operator has skipped or moved. */
export interface ExceptionRecord {
  readonly definition: string;
  readonly timezone: string;
  readonly kind: ExceptionKind;
  /** The occurrence, by which its run, or its skipped row, stays known. */
  readonly occurrence: Date;
  /** When its run is due; null: it is skipped. */
  readonly movedTo: Date | null;
  readonly note: string | null;
  /** Who did it, as in the audit. */
  readonly operator: string;
  readonly madeAt: Date;
  /** Its time has come: it can no longer be changed or taken back. */
  readonly isDue: boolean;
  /** The schedule has the occurrence. False after an edit that took it away: then it has no effect. */
  readonly hasEffect: boolean;
}

/** What a skip or a move has done. */
export interface ExceptionChange extends ExceptionRecord {
  /** False: it was just so before, and nothing was written. */
  readonly isChanged: boolean;
  /** What it takes the place of; null: nothing. */
  readonly replaced: ExceptionRecord | null;
  /** The definition is paused: until it is resumed, no occurrence becomes a run. */
  readonly isPaused: boolean;
}

/** `moved from 09:00 to 11:00`, `skipped`, and by whom, when and why. For a sentence about the occurrence. */
export function exceptionWords(exception: Exception, zone: Zone): string {
  const { kind, at, dueAt } = exception;
  const did =
    kind === 'skip' ? 'skipped' : `moved from ${instantText(at, zone)} to ${instantText(dueAt, zone)}`;
  return `${did} ${byWhom(exception)}`;
}

/** `by anna: bank holiday`. */
export function byWhom({ operator, note }: Pick<Exception, 'operator' | 'note'>): string {
  return `by ${operator}${note === null || note === '' ? '' : `: ${note}`}`;
}
