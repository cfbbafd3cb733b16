// Room: cli. What was probably meant by a name that is not there.
// In: the name and the names that are. Out: up to three near misses, the nearest first.

/** The names within a third of the name's length of typing errors, or that contain it. */
function nearMisses(name: string, known: Iterable<string>): string[] {
  const wanted = name.toLowerCase().slice(0, 200);
  const most = Math.max(2, Math.floor(wanted.length / 3));
  return [...known]
    .map(each => ({ each, distance: distanceOf(wanted, each.toLowerCase()) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance || (a.each < b.each ? -1 : 1))
    .slice(0, 3)
    .map(({ each }) => each);
}

/** The near misses as the end of a sentence. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const near = nearMisses(name, known);
  return near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`;
}

function distanceOf(wanted: string, known: string): number {
  if (wanted.length >= 3 && known.includes(wanted)) return 1;
  let row = Array.from({ length: known.length + 1 }, (_, index) => index);
  for (let i = 1; i <= wanted.length; i++) {
    const next = [i];
    for (let j = 1; j <= known.length; j++) {
      const change = (row[j - 1] ?? 0) + (wanted[i - 1] === known[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[known.length] ?? 0;
}
