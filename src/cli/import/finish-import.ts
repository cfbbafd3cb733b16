// The end of an import from another scheduler: the comparison, or the code and the report.

import { jobCode } from '../../import/code/job-code.js';
import { comparedWords, compareTaken, type Found, foundReport } from '../../import/elsewhere/taken.js';
import { TockError } from '../../model/errors.js';
import { utcText } from '../../model/schedule/instant-text.js';
import type { Shell } from '../shell.js';
import { type WriteFlags, writeImport } from './import-files.js';
import { sayComparison } from './say-comparison.js';

export interface FoundFlags extends WriteFlags {
  readonly dryRun?: true;
  readonly from?: Date;
  readonly days?: number;
  readonly switch?: true;
}

/** How a source is called. */
export interface SourceWords {
  /** The command: `kubernetes`. */
  readonly command: string;
  /** In sentences: `Kubernetes`. */
  readonly system: string;
}

export const DAY_MS = 86_400_000;
export const DEFAULT_DAYS = 90;

/** @throws TockError TOCK_BAD_OPTION for flags that exclude each other */
export function checkFoundFlags({ dryRun, switch: isSwitch, out, report, from, days }: FoundFlags): void {
  const refuseIf = (isWrong: boolean, why: string): void => {
    if (isWrong) throw new TockError('TOCK_BAD_OPTION', why);
  };
  refuseIf(
    dryRun === true && isSwitch === true,
    'give --dry-run or --switch, not both: --dry-run changes nothing',
  );
  refuseIf(
    (dryRun === true || isSwitch === true) && (out ?? report) !== undefined,
    '--out and --report belong to the import itself: leave --dry-run and --switch out',
  );
  refuseIf(dryRun !== true && (from ?? days) !== undefined, '--from and --days belong to --dry-run');
  refuseIf(out !== undefined && out === report, '--out and --report name the same file');
}

/** Prints, or writes, what was found; with --dry-run the comparison. Resolves to the exit code. */
export async function finishImport(
  shell: Shell,
  flags: FoundFlags,
  words: SourceWords,
  found: Found,
): Promise<number> {
  if (flags.dryRun) return compare(shell, flags, words, found);
  const code = jobCode(
    found.taken.map(({ job }) => job),
    `${found.source} by \`tock import ${words.command}\``,
    found.head,
  );
  const { source, taken, left } = found;
  shell.document({
    source,
    code,
    taken: taken.map(({ from, job: { name, schedule }, differences }) => ({
      from,
      name,
      schedule,
      differences,
    })),
    left,
  });
  return await writeImport(shell, flags, code, foundReport(found).join('\n'));
}

function compare(shell: Shell, flags: FoundFlags, { command, system }: SourceWords, found: Found): number {
  const from = flags.from?.getTime() ?? Date.now();
  const days = flags.days ?? DEFAULT_DAYS;
  const lines = found.taken.map(taken => ({
    from: taken.from,
    name: taken.job.name,
    comparison: compareTaken(taken, from, from + days * DAY_MS),
  }));
  sayComparison(shell, lines, {
    title: `${days} days from ${utcText(from)}, ${system} beside Tock:`,
    facts: { source: found.source, from: utcText(from), days },
    left: found.left.length,
    command,
    words: comparedWords(system),
  });
  return 0;
}
