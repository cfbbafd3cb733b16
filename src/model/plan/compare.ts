// Which occurrences an edit adds, takes away and moves.
import type { Arrivals } from './walk.js';

export type ComparedKind = 'appear' | 'vanish' | 'move';

/** An occurrence that is not as it was. Epoch milliseconds; when its run is due, or was to be. */
export interface ComparedOccurrence {
  readonly kind: ComparedKind;
  readonly at: number;
  /** Of one that moves: where to. */
  readonly to: number | null;
}

export interface Compared {
  readonly appear: number;
  readonly vanish: number;
  readonly move: number;
  /** The first of each kind, the earliest first. */
  readonly examples: readonly ComparedOccurrence[];
}

const EXAMPLES = 3;
type Due = Pick<Arrivals, 'at' | 'dueAt'>;

/**
 * Compares what is due in [from, to) before and after an edit. An occurrence that both have moves if its run
 * is due at another time, as by another jitter. Of the others, those that vanish are paired with those that
 * appear next to them, in their order, up to the next one that stays: these move.
 */
export function compareOccurrences(
  before: Due,
  after: Due,
  { from, to }: { readonly from: Date; readonly to: Date },
): Compared {
  const [begin, end] = [from.getTime(), to.getTime()];
  const counts = { appear: 0, vanish: 0, move: 0 };
  const examples: ComparedOccurrence[] = [];
  const found = (kind: ComparedKind, at: number, moved: number | null = null) => {
    counts[kind]++;
    if (counts[kind] <= EXAMPLES) examples.push({ kind, at, to: moved });
  };
  /** What vanishes or appears since the last one that stays, in stretches of one kind. */
  let stretches: { readonly kind: 'appear' | 'vanish'; readonly dues: number[] }[] = [];
  const isInside = (due: number) => due >= begin && due < end;
  const add = (kind: 'appear' | 'vanish', due: number) => {
    if (!isInside(due)) return;
    const last = stretches.at(-1);
    if (last?.kind === kind) last.dues.push(due);
    else stretches.push({ kind, dues: [due] });
  };
  const settle = () => {
    for (let index = 0; index < stretches.length; index++) {
      const [here, next] = [stretches[index], stretches[index + 1]];
      if (here === undefined) continue;
      const pairs = Math.min(here.dues.length, next?.dues.length ?? 0);
      const alone = here.dues.length - pairs;
      for (const due of here.dues.slice(0, alone)) found(here.kind, due);
      const others = next?.dues.splice(0, pairs) ?? [];
      for (const [place, due] of here.dues.slice(alone).entries()) {
        const other = others[place] ?? due;
        if (here.kind === 'vanish') found('move', due, other);
        else found('move', other, due);
      }
    }
    stretches = [];
  };
  const [old, now] = [sorted(before), sorted(after)];
  let [one, other] = [0, 0];
  while (one < old.length || other < now.length) {
    const [was, is] = [old[one], now[other]];
    if (was !== undefined && is !== undefined && was.at === is.at) {
      settle();
      if (was.due !== is.due && isInside(was.due) && isInside(is.due)) found('move', was.due, is.due);
      else if (was.due !== is.due && isInside(was.due)) found('vanish', was.due);
      else if (was.due !== is.due && isInside(is.due)) found('appear', is.due);
      one++;
      other++;
    } else if (is === undefined || (was !== undefined && was.at < is.at)) {
      add('vanish', was?.due ?? 0);
      one++;
    } else {
      add('appear', is.due);
      other++;
    }
  }
  settle();
  return { ...counts, examples: examples.sort((a, b) => a.at - b.at) };
}

/** By occurrence: one that an operator has moved keeps its place. */
const sorted = ({ at, dueAt }: Due) =>
  at.map((each, index) => ({ at: each, due: dueAt[index] ?? 0 })).sort((a, b) => a.at - b.at);
