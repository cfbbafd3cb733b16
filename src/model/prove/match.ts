// Matches the occurrences that a schedule has with what the tables hold about them: two streams, both
// sorted.

/** Epoch seconds, half-open. */
export interface LedgerSpan {
  readonly low: number;
  readonly high: number;
}

/** A row that stands for several occurrences. Instants in epoch seconds. */
export interface WideRow {
  readonly id: string;
  readonly at: number;
  readonly count: number;
  readonly reason: string | null;
  readonly isSkipped: boolean;
  /** It stands for all occurrences from here to `at`. Null: for `count` up to `at`. */
  readonly first: number | null;
}

/** What the tables hold of a span, ascending. */
export interface Ledger {
  /** Up to where it was read. */
  readonly end: number;
  readonly keys: { readonly at: readonly number[]; readonly run: readonly string[] };
  /** `kind`: the trigger of a run; of a skipped row `=` and its reason. */
  readonly runs: {
    readonly at: readonly number[];
    readonly run: readonly string[];
    readonly kind: readonly string[];
  };
  readonly wide: readonly WideRow[];
}

/** A key, or a row, of an instant that is no occurrence. */
export interface Stray {
  readonly at: number;
  readonly run: string;
  /** As in the ledger; `key` for a key without a row. */
  readonly kind: string;
}

/** Instants in epoch seconds, ascending. */
export interface Matched {
  /** How many occurrences have a run, by its trigger, or a skipped row, by `=` and its reason. */
  readonly kinds: ReadonlyMap<string, number>;
  /** Occurrences without any record. */
  readonly open: readonly number[];
  /** Those with a key, whose run is gone. */
  readonly keyOnly: readonly Stray[];
  readonly strays: readonly Stray[];
  /** Instants with several runs. */
  readonly doubled: readonly { readonly at: number; readonly runs: readonly string[] }[];
  /** Runs whose occurrence has no key, or that of another run. */
  readonly keyless: readonly Stray[];
}

/** @param expected the occurrences of the span, in epoch seconds, ascending */
export function matchLedger(expected: readonly number[], ledger: Ledger): Matched {
  const { keys, runs, end } = ledger;
  const kinds = new Map<string, number>();
  const count = (kind: string) => kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  const open: number[] = [];
  const keyOnly: Stray[] = [];
  const strays: Stray[] = [];
  const doubled: { at: number; runs: string[] }[] = [];
  const keyless: Stray[] = [];
  const cover = coverOf(ledger.wide);
  let [e, k, r, plain] = [0, 0, 0, 0];
  for (;;) {
    const at = Math.min(expected[e] ?? end, keys.at[k] ?? end, runs.at[r] ?? end);
    if (at >= end) break;
    const isExpected = expected[e] === at;
    const key = keys.at[k] === at ? keys.run[k] : undefined;
    // Nearly all: an occurrence with its key and its run.
    if (
      isExpected &&
      runs.at[r] === at &&
      runs.at[r + 1] !== at &&
      runs.run[r] === key &&
      runs.kind[r] === 'cron'
    ) {
      plain++;
      e++;
      k++;
      r++;
      continue;
    }
    const rows: Stray[] = [];
    for (; runs.at[r] === at; r++) rows.push({ at, run: runs.run[r] ?? '', kind: runs.kind[r] ?? '' });
    if (isExpected) e++;
    if (key !== undefined) k++;
    const real = rows.filter(row => !row.kind.startsWith('='));
    const [run] = real;
    if (real.length > 1) doubled.push({ at, runs: real.map(row => row.run) });
    else if (run && run.run !== key) keyless.push(run);
    if (!isExpected) {
      if (rows.length > 0) strays.push(...rows);
      else if (key !== undefined) strays.push({ at, run: key, kind: 'key' });
      continue;
    }
    const found = run?.kind ?? rows[0]?.kind ?? cover(at);
    if (found !== null) count(found);
    else if (key !== undefined) keyOnly.push({ at, run: key, kind: 'key' });
    else open.push(at);
  }
  if (plain > 0) kinds.set('cron', (kinds.get('cron') ?? 0) + plain);
  const stood = withoutStanding(open, expected, ledger);
  if (stood.length < open.length) kinds.set('stands', open.length - stood.length);
  return { kinds, open: stood, keyOnly, strays, doubled, keyless };
}

/** Which skipped row covers an instant: `=` and its reason. Asked in ascending order. */
function coverOf(wide: readonly WideRow[]): (at: number) => string | null {
  const spans = wide
    .filter((row): row is WideRow & { first: number } => row.first !== null)
    .sort((a, b) => a.first - b.first);
  let next = 0;
  let covering: WideRow[] = [];
  return at => {
    for (let span = spans[next]; span && span.first <= at; span = spans[++next]) covering.push(span);
    if (covering.length > 0) covering = covering.filter(span => span.at >= at);
    const [span] = covering;
    return span ? `=${span.reason ?? ''}` : null;
  };
}

/**
 * A run that stands for several has a skipped row beside it for those before it. That row is left out where
 * the occurrence right before has a key already, as after a reset of the cursor: then the run itself stands
 * for them.
 */
function withoutStanding(
  open: readonly number[],
  expected: readonly number[],
  { wide, keys }: Ledger,
): readonly number[] {
  const standing = wide.filter(row => row.first === null);
  if (open.length === 0 || standing.length === 0) return open;
  const left = new Set(open);
  for (const { at, count } of standing) {
    const index = indexOf(expected, at);
    const before = expected[index - 1];
    if (index < 0 || (before !== undefined && indexOf(keys.at, before) < 0)) continue;
    for (let each = index - 1; each >= 0 && each > index - count; each--) left.delete(expected[each] ?? 0);
  }
  return [...left];
}

/** Where a number is in an ascending list; -1: it is not. */
export function indexOf(list: readonly number[], wanted: number): number {
  let [low, high] = [0, list.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = list[middle] ?? 0;
    if (found === wanted) return middle;
    if (found < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** The occurrences that later rows do not stand for either. Adds the others to `kinds`. */
export function withoutLater(
  open: readonly number[],
  later: readonly WideRow[],
  kinds: Map<string, number>,
): readonly number[] {
  const cover = coverOf(later);
  return open.filter(at => {
    const found = cover(at);
    if (found !== null) kinds.set(found, (kinds.get(found) ?? 0) + 1);
    return found === null;
  });
}

/** What a reset of the cursor has put aside. */
export interface Voided {
  /** Epoch milliseconds: occurrences after it. */
  readonly since: number;
  /** The last run that there was. */
  readonly until: number;
}

/** Rows of before no longer stand for occurrences that are considered again. */
export function withoutVoid(wide: readonly WideRow[], voided: readonly Voided[]): readonly WideRow[] {
  return voided.reduce<readonly WideRow[]>(
    (rows, { since, until }) =>
      rows.flatMap(row => {
        if (Number(row.id) > until || row.at * 1000 <= since) return [row];
        const isBefore = row.first !== null && row.first * 1000 <= since;
        return isBefore ? [{ ...row, at: Math.floor(since / 1000) }] : [];
      }),
    wide,
  );
}

/** The same of a ledger: nearly always itself. */
export function ledgerWithoutVoid(ledger: Ledger, voided: readonly Voided[]): Ledger {
  if (voided.length === 0) return ledger;
  const { at, run, kind } = ledger.runs;
  const isKept = at.map((second, index) => {
    const isSkipped = kind[index]?.startsWith('=') === true;
    const isVoid = ({ since, until }: Voided) => Number(run[index]) <= until && second * 1000 > since;
    return !(isSkipped && voided.some(isVoid));
  });
  const keep = <T>(list: readonly T[]) => list.filter((_, index) => isKept[index]);
  return {
    ...ledger,
    runs: { at: keep(at), run: keep(run), kind: keep(kind) },
    wide: withoutVoid(ledger.wide, voided),
  };
}
