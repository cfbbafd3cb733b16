// How deep JSON may be nested, and what is shown in place of what is deeper.

/**
 * The levels of JSON that may be stored: payloads, results and outputs. Walks over it recurse, also those of
 * other programs: JSON.stringify ends at some thousand levels, PostgreSQL's jsonb at some more. In SQL: the
 * domain tock.payload, tock.complete.
 */
export const MAX_DEPTH = 200;

/** For importers: why a schedule is left. */
export const TOO_DEEP = `its payload is nested deeper than ${MAX_DEPTH} levels`;

/** Whether something lies deeper than `most` levels below a value. */
export function isDeeperThan(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (most === 0) return Object.keys(value).length > 0;
  return Object.values(value).some(child => isDeeperThan(child, most - 1));
}

/** Documents that are shown hold stored values some levels below their own. */
const AROUND = 10;

/** JSON text of any JSON: what lies too deep to be written is left out, and the text says so. */
export function deepJsonText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return JSON.stringify(cutBelow(value, MAX_DEPTH + AROUND), null, indent);
  }
}

function cutBelow(value: unknown, most: number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (most === 0 && Object.keys(value).length > 0) return { leftOut: 'what is nested too deep to show' };
  if (Array.isArray(value)) return value.map(child => cutBelow(child, most - 1));
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, cutBelow(child, most - 1)]));
}
