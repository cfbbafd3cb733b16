// When a success is expected, and when its absence is late.
import { type Duration, parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { endWithoutFrozen, type FrozenSpan } from '../freeze/freeze.js';
import { quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';
import type { DefinitionColumns } from '../planning/definition-columns.js';
import { type Exception, movedIn, withoutExcepted } from '../planning/exceptions.js';
import type { OutsideWindow, Window } from '../planning/window.js';
import type { CompiledSchedule } from '../schedule/compile.js';
import type { Expectation } from './options.js';

const EXPECT = optionNames<Expectation>({ within: true, maxDuration: true });

/**
 * @param hasTimes whether the definition has a schedule of its own
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
 */
export function readExpectation(
  given: Expectation | undefined,
  hasTimes: boolean,
): Pick<DefinitionColumns, 'expect_within_ms' | 'max_duration_ms'> {
  if (given === undefined) return { expect_within_ms: null, max_duration_ms: null };
  checkOptions(given, EXPECT, 'expect', 'TOCK_BAD_OPTION', "{ within: '1h' }");
  if (given.within !== undefined && !hasTimes)
    throw new TockError(
      'TOCK_BAD_OPTION',
      'expect.within needs cron, every or at: nothing says when a success would be expected',
    );
  return {
    expect_within_ms: read(given.within, 'within'),
    max_duration_ms: read(given.maxDuration, 'maxDuration'),
  };
}

function read(value: Duration | undefined, name: keyof Expectation): number | null {
  if (value === undefined) return null;
  const ms = parseDuration(value, `expect.${name}`);
  if (ms >= 1000) return ms;
  throw new TockError('TOCK_BAD_OPTION', `expect.${name} ${quote(value)} is less than 1s`);
}

/** What is known of a definition's successes. Instants in epoch milliseconds, durations in milliseconds. */
export interface Watched {
  readonly withinMs: number;
  readonly jitterMs: number;
  /** When the definition was made, changed or resumed, whichever was last. */
  readonly begunAt: number;
  /** The latest occurrence with a success; null: none. */
  readonly lastSuccess: number | null;
  /** The last occurrence considered, for a schedule that is over; null: it goes on. */
  readonly endedAt: number | null;
  /** Time that does not count, the earliest first. */
  readonly frozen: readonly FrozenSpan[];
  /** The definition's own hours; null: all. */
  readonly window: Window | null;
  readonly outsideWindow: OutsideWindow;
}

/** Of so many openings of a window, one lets an occurrence start, or none ever will. */
const MAX_OPENINGS = 1000;

/**
 * By when a success is expected: the next occurrence after the last success, the jitter, and `within`. For a
 * definition that has never succeeded, the first occurrence after it was made. Nothing is expected of an
 * occurrence that was skipped, or that the window skips; of a moved one, at its new time; of one that the
 * window defers, at the opening. Time in which everything was frozen does not count. Null: never again, or
 * not while it is frozen.
 * @param exceptions also those that the cursor has passed
 */
export function expectedBy(
  schedule: CompiledSchedule,
  watched: Watched,
  exceptions: readonly Exception[] = [],
): number | null {
  const { withinMs, jitterMs, begunAt, lastSuccess, endedAt, frozen, window } = watched;
  const after = Math.max(lastSuccess ?? begunAt, begunAt);
  const regular = nextStarting(withoutExcepted(schedule, exceptions), watched, after);
  const isOver = regular === null || (endedAt !== null && regular > endedAt);
  const starts = movedIn(schedule, exceptions, { after: begunAt, to: Number.POSITIVE_INFINITY })
    .filter(({ at }) => at > after)
    .map(({ startsAt }) => startsAt);
  if (!isOver) starts.push(regular);
  if (starts.length === 0) return null;
  const first = Math.min(...starts);
  const opening = (at: number) => window?.opening(at) ?? at;
  const latest = Math.min(opening(first + jitterMs), opening(first) + jitterMs);
  const end = endWithoutFrozen(opening(first), latest + withinMs, frozen);
  return Number.isFinite(end) ? end : null;
}

/** The first occurrence after an instant that the window does not skip; null: none. */
function nextStarting(
  schedule: CompiledSchedule,
  { window, outsideWindow }: Pick<Watched, 'window' | 'outsideWindow'>,
  after: number,
): number | null {
  let at = schedule.next(after);
  if (window === null || outsideWindow === 'defer') return at;
  for (let openings = 0; at !== null && openings < MAX_OPENINGS; openings++) {
    if (window.isOpen(at)) return at;
    at = schedule.next(window.opening(at) - 1);
  }
  return null;
}
