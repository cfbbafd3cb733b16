// The answer of `tock why`: its form, and what its parts share.
import type { ScheduleVerdict } from '../../model/explain/instant.js';
import type { RunRecord } from '../../model/run/run-record.js';
import type { WhyDefinition } from '../../store/reads/why/why.js';
import type { Fate } from './words.js';

/** What became of an occurrence, what the schedule says if there is none, or `several`: see `occurrences`. */
export type WhyVerdict = Fate | Exclude<ScheduleVerdict, 'occurrence'> | 'no-schedule' | 'several';

/** The answer of `why`: what became of an occurrence, or why there was none. */
export interface Why {
  readonly definition: string;
  readonly timezone: string;
  /** The explained instant; null for a local time that the clocks skip, and for several. */
  readonly instant: Date | null;
  /** The local time or day asked about: `2026-03-08 02:30`, in the definition's zone. */
  readonly local: string;
  readonly verdict: WhyVerdict;
  /** In plain words: first what the schedule says, then what was done. */
  readonly sentences: readonly string[];
  /** The occurrence's run, or the skipped row that stands for it. */
  readonly run: RunRecord | null;
  /** One answer each, if a day or a repeated local time has several occurrences; otherwise empty. */
  readonly occurrences: readonly Why[];
}

export const MAX_ANSWERS_OF_A_DAY = 100;

export function answer(
  { name, timezone }: WhyDefinition,
  found: Pick<Why, 'local' | 'verdict' | 'sentences'> & Partial<Why>,
): Why {
  return { definition: name, timezone, instant: null, run: null, occurrences: [], ...found };
}

/** The answers of a whole day as one; `none` says why there are none. */
export function answerDay(
  definition: WhyDefinition,
  local: string,
  zone: string,
  occurrences: readonly Why[],
  isCut: boolean,
): Why {
  const [only] = occurrences;
  if (only && occurrences.length === 1) return only;
  const more = isCut ? `; only the first ${MAX_ANSWERS_OF_A_DAY} are explained` : '';
  const sentences = [
    `${occurrences.length} times on ${local} in ${zone}: ${countVerdicts(occurrences)}${more}`,
  ];
  return answer(definition, { local, verdict: 'several', sentences, occurrences });
}

function countVerdicts(answers: readonly Why[]): string {
  const counts = new Map<string, number>();
  for (const { verdict } of answers) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  return [...counts].map(([verdict, count]) => `${count} ${verdict}`).join(', ');
}
