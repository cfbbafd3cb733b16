// What a proof says: how each occurrence is explained, what cannot be proved and why, what is unexplained.

/**
 * How an occurrence is explained. `run`, `backfill`: it has a run. `skipped:<reason>`: a skipped row says
 * why it has none. `stands`: the run after it stands for it. `pruned`: its key has outlived its run, which
 * retention has deleted. `paused`, `broken`: it lies in one that has not ended. `vanished`: it was due when
 * the definition left the code. `used-up`: `remaining` was 0. `moved`: to a time to come. `due`, `upcoming`:
 * after the cursor.
 */
export type ExplainedKind = string;

/**
 * `registration`, `versions`, `no-version`: nothing is kept of what was in force then. `zones`: the time zone
 * had other offsets by the zone data of then.
 */
export type UnprovableReason =
  | 'registration'
  | 'versions'
  | 'no-version'
  | 'retention'
  | 'unreadable'
  | 'zones'
  | 'chain';

/**
 * - `missing`: the cursor is past the occurrence, and nothing is on record
 * - `doubled`: it has several runs
 * - `unexpected`: a run, or a key, of a time that no version has
 * - `keyless`: a run whose occurrence has no key of its own: it could be made again
 * - `deleted`: a key without its run, which retention has not deleted
 * - `count`: a row stands for another number of occurrences than the schedule had
 * - `changed`: the definition is another one than its last version
 * - `stuck`: the definition's `next_at` is later than its next occurrence, or missing
 */
export type ProofFindingKind =
  | 'missing'
  | 'doubled'
  | 'unexpected'
  | 'keyless'
  | 'deleted'
  | 'count'
  | 'changed'
  | 'stuck';

/** Something that nothing explains. */
export interface ProofFinding {
  readonly definition: string;
  readonly kind: ProofFindingKind;
  /** The occurrence; null: it is about the definition. */
  readonly at: Date | null;
  /** The runs that it is about. */
  readonly runs: readonly string[];
  readonly text: string;
}

/** What `prove` says of one reason. */
export interface UnprovablePart {
  readonly reason: UnprovableReason;
  readonly definitions: number;
  /** How many occurrences it is about; 0 where no schedule is known for that time. */
  readonly occurrences: number;
}

/** The answer of `prove`. */
export interface Proof {
  readonly from: Date;
  readonly to: Date;
  /** The database's time when it began. */
  readonly now: Date;
  readonly definitions: number;
  /** All that the schedules had: explained, not provable, or missing. */
  readonly occurrences: number;
  readonly explained: number;
  /** How many by each {@link ExplainedKind}. */
  readonly byKind: Readonly<Record<ExplainedKind, number>>;
  readonly notProvable: readonly UnprovablePart[];
  readonly unexplained: number;
  readonly byFinding: Readonly<Partial<Record<ProofFindingKind, number>>>;
  /** The first 20 of what is unexplained. */
  readonly found: readonly ProofFinding[];
  /** Nothing is unexplained. */
  readonly holds: boolean;
}

/** What a proof found out about one definition, or about all. */
export class Tally {
  readonly kinds = new Map<ExplainedKind, number>();
  readonly unprovable = new Map<UnprovableReason, { definitions: number; occurrences: number }>();
  readonly findings = new Map<ProofFindingKind, number>();
  /** The first of them. */
  readonly found: ProofFinding[] = [];
  private static readonly SHOWN = 20;

  explain(kind: ExplainedKind, count = 1): void {
    if (count > 0) this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + count);
  }

  /** @param definitions 0 where it was said of this one already */
  cannotProve(reason: UnprovableReason, occurrences: number, definitions = 1): void {
    const known = this.unprovable.get(reason);
    this.unprovable.set(reason, {
      definitions: (known?.definitions ?? 0) + definitions,
      occurrences: (known?.occurrences ?? 0) + occurrences,
    });
  }

  find(finding: ProofFinding): void {
    this.findings.set(finding.kind, (this.findings.get(finding.kind) ?? 0) + 1);
    if (this.found.length < Tally.SHOWN) this.found.push(finding);
  }

  add(other: Tally): void {
    for (const [kind, count] of other.kinds) this.explain(kind, count);
    for (const [reason, { occurrences, definitions }] of other.unprovable)
      this.cannotProve(reason, occurrences, definitions);
    for (const [kind, count] of other.findings)
      this.findings.set(kind, (this.findings.get(kind) ?? 0) + count);
    this.found.push(...other.found.slice(0, Math.max(Tally.SHOWN - this.found.length, 0)));
  }
}

/** The order in which they are shown. */
const RANKS = [
  'run',
  'backfill',
  'stands',
  'skipped',
  'pruned',
  'paused',
  'broken',
  'vanished',
  'used-up',
  'moved',
  'due',
  'upcoming',
];
const rankOf = (kind: ExplainedKind) => RANKS.indexOf(kind.split(':')[0] ?? kind);

/** @param tally of all definitions */
export function proofOf(tally: Tally, about: Pick<Proof, 'from' | 'to' | 'now' | 'definitions'>): Proof {
  const sum = (counts: Iterable<number>) => [...counts].reduce((total, count) => total + count, 0);
  const notProvable = [...tally.unprovable].map(([reason, counts]) => ({ reason, ...counts }));
  const explained = sum(tally.kinds.values());
  const unexplained = sum(tally.findings.values());
  return {
    ...about,
    occurrences:
      explained +
      sum(notProvable.map(each => each.occurrences)) +
      (tally.findings.get('missing') ?? 0) +
      (tally.findings.get('deleted') ?? 0),
    explained,
    byKind: Object.fromEntries(
      [...tally.kinds].sort(([a], [b]) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1)),
    ),
    notProvable,
    unexplained,
    byFinding: Object.fromEntries([...tally.findings].sort(([a], [b]) => (a < b ? -1 : 1))),
    found: tally.found,
    holds: unexplained === 0,
  };
}
