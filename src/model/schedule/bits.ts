// Small sets of small numbers, held in the bits of integers.

/** A set of numbers 0-59: 0-29 in `low`, 30-59 in `high`, so that no bit is the sign of a 32-bit integer. */
export interface Bits60 {
  readonly low: number;
  readonly high: number;
}

export function bits60(values: Iterable<number>): Bits60 {
  let low = 0;
  let high = 0;
  for (const value of values) {
    if (value < 30) low |= 1 << value;
    else high |= 1 << (value - 30);
  }
  return { low, high };
}

/** Packs numbers 0-30 into one integer. */
export function bits(values: Iterable<number>): number {
  let mask = 0;
  for (const value of values) mask |= 1 << value;
  return mask;
}

/** The least member of `mask` that is >= `from` (0 or more), or -1. */
export function bitFrom(mask: number, from: number): number {
  if (from > 30) return -1;
  const rest = mask & (-1 << from);
  return rest === 0 ? -1 : 31 - Math.clz32(rest & -rest);
}

/** The greatest member of `mask` that is <= `to`, or -1. `to` may be -1. */
export function bitTo(mask: number, to: number): number {
  if (to < 0) return -1;
  const rest = to >= 30 ? mask : mask & ((2 << to) - 1);
  return rest === 0 ? -1 : 31 - Math.clz32(rest);
}

export function has60(set: Bits60, value: number): boolean {
  return value < 30 ? ((set.low >>> value) & 1) === 1 : ((set.high >>> (value - 30)) & 1) === 1;
}

/** The least member that is >= `from`, or -1. `from` may be 60. */
export function bitFrom60(set: Bits60, from: number): number {
  if (from < 30) {
    const found = bitFrom(set.low, from);
    if (found >= 0) return found;
  }
  const found = bitFrom(set.high, from < 30 ? 0 : from - 30);
  return found < 0 ? -1 : found + 30;
}

/** The greatest member that is <= `to`, or -1. `to` may be -1. */
export function bitTo60(set: Bits60, to: number): number {
  if (to >= 30) {
    const found = bitTo(set.high, to - 30);
    if (found >= 0) return found + 30;
  }
  return bitTo(set.low, to >= 30 ? 29 : to);
}
