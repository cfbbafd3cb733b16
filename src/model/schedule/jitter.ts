// Jitter: a delay that spreads definitions which would start in the same second.

/**
 * How long after its nominal time an occurrence runs, in whole seconds, in milliseconds: hash(name) mod
 * jitter, so the same on every host, and less than the gap, so that two occurrences never swap.
 * @param maxJitterMs the delay is less than this; 0 means none
 * @param gapMs from this occurrence to the next; Infinity if there is none
 */
export function jitterMs(definitionName: string, maxJitterMs: number, gapMs: number): number {
  const seconds = Math.floor(maxJitterMs / 1000);
  if (!(seconds > 0)) return 0;
  const max = Math.max(Math.ceil(gapMs / 1000) - 1, 0);
  return Math.min(hashName(definitionName) % seconds, max) * 1000;
}

/**
 * FNV-1a over the UTF-16 units of a name, mixed so that similar names such as `report-1` and `report-2` end
 * far apart. An unsigned 32-bit integer.
 *
 * Source: Fowler, Noll and Vo, FNV-1a; Austin Appleby, the finalizer of MurmurHash3.
 */
function hashName(name: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index);
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (unit >>> 8), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
