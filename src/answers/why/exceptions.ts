// What `tock why` says of occurrences that an operator has skipped or moved. Pure.
import { formatDuration } from '../../model/duration.js';
import { instantText } from '../../model/explain/local-clock.js';
import { byWhom, exceptionWords } from '../../model/planning/exception-record.js';
import type { Exception } from '../../model/planning/exceptions.js';
import { utcText } from '../../model/schedule/instant-text.js';
import type { Zone } from '../../model/schedule/zone/zone.js';
import type { WhyDefinition } from '../../store/reads/why/why.js';
import { blockedBy, describeOpen, type Finding } from './words.js';

/** `it was moved from 09:00 to 11:00 by anna: bank holiday`. */
export const exceptionSentence = (exception: Exception, zone: Zone): string =>
  `it was ${exceptionWords(exception, zone)}`;

/** What becomes of an occurrence whose exception is to come; null: its time has passed. */
export function describeExcepted(
  definition: WhyDefinition,
  { kind, dueAt }: Exception,
  zone: Zone,
): Finding | null {
  if (dueAt <= definition.cursor.getTime()) return null;
  const text = (date: Date) => instantText(date.getTime(), zone);
  const ahead = dueAt - definition.now.getTime();
  if (kind === 'move' || ahead <= 0 || blockedBy(definition, text) !== null)
    return describeOpen(definition, dueAt, text);
  const sentence = `it gets no run: in ${formatDuration(ahead)} it is recorded as skipped`;
  return { verdict: 'upcoming', sentences: [sentence] };
}

/** The occurrences that were moved to an instant. */
export function movedHere(
  { name }: WhyDefinition,
  exceptions: readonly Exception[],
  instant: number | null,
  zone: Zone,
): string[] {
  return exceptions
    .filter(({ kind, dueAt }) => kind === 'move' && dueAt === instant)
    .map(exception => {
      const { at } = exception;
      return `the occurrence ${instantText(at, zone)} was moved here ${byWhom(exception)} (tock why ${name} ${utcText(at)})`;
    });
}

/** Of an occurrence that the schedule no longer has. */
export const withoutEffect = (exception: Exception, zone: Zone): string =>
  `${exceptionSentence(exception, zone)}; the schedule was edited since and no longer has it, so that has no effect`;
