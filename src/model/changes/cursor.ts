// Cursors of changes: the origin of the database, and a position in it.
import { TockError } from '../errors.js';
import { quote } from '../names.js';

/** What is kept, as one statement has read it. Positions are whole numbers without gaps. */
export interface ChangesHead {
  readonly origin: string;
  /** The last one that was given. */
  readonly position: number;
  /** Changes up to this one were deleted. */
  readonly keptAfter: number;
}

/** Where to begin. */
export type From = 'now' | 'oldest' | { readonly origin: string; readonly position: number };

const WAY_ON =
  "read the runs themselves (runs.list), then follow from: 'now'; or from: 'oldest', the oldest change that is kept";

export const cursorAt = (origin: string, position: number): string => `${origin}-${position}`;

/** @throws TockError TOCK_BAD_CURSOR for what no change has as its cursor */
export function readFrom(text: unknown = 'now'): From {
  if (text === 'now' || text === 'oldest') return text;
  const [, origin, digits] = (typeof text === 'string' && /^([0-9a-f]{8})-(\d{1,15})$/.exec(text)) || [];
  if (origin !== undefined) return { origin, position: Number(digits) };
  throw new TockError(
    'TOCK_BAD_CURSOR',
    `${quote(text)} is no cursor: give that of a change as it came, or now, or oldest`,
  );
}

/**
 * The position after which to read.
 * @throws TockError TOCK_BAD_CURSOR for a cursor that this database has not given; TOCK_CHANGES_GONE where
 * changes after it were deleted
 */
export function placeOf(from: From, head: ChangesHead): number {
  if (from === 'now') return head.position;
  if (from === 'oldest') return head.keptAfter;
  const { origin, position } = from;
  if (origin !== head.origin || position > head.position)
    throw new TockError(
      'TOCK_BAD_CURSOR',
      `the cursor ${cursorAt(origin, position)} is none of this database, which may be another one or a restored copy: ${WAY_ON}`,
    );
  if (position < head.keptAfter)
    throw new TockError(
      'TOCK_CHANGES_GONE',
      `changes after the cursor ${cursorAt(origin, position)} have been deleted: ${WAY_ON}`,
    );
  return position;
}
