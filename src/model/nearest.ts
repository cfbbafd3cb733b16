// Suggests what was probably meant by an unknown name.

/** The three nearest known names that contain it, or differ in at most a third of its letters (or two). */
export function nearMisses(name: string, known: Iterable<string>): string[] {
  const wanted = name.toLowerCase().slice(0, 200);
  const limit = Math.max(2, Math.floor(wanted.length / 3));
  return [...known]
    .map(candidate => ({ candidate, distance: distanceOf(wanted, candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** The near misses as the end of a sentence; empty if there are none. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const near = nearMisses(name, known);
  return near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`;
}

function distanceOf(wanted: string, known: string): number {
  return wanted.length >= 3 && known.includes(wanted) ? 1 : editDistance(wanted, known);
}

/** Levenshtein distance: how many letters to add, drop or change. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
