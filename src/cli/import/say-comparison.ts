// Prints the comparison of a dry run: one line for each definition, and one for each reason of a difference.
import type { Comparison } from '../../import/crontab/compare.js';
import { type ComparedWords, compareWords } from '../../import/crontab/compare-words.js';
import { utcText } from '../../model/schedule/instant-text.js';
import type { Shell } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';

export interface ComparedLine {
  readonly name: string;
  readonly comparison: Comparison;
}

export interface ComparisonView {
  readonly title: string;
  /** What the document says besides the lines. */
  readonly facts: object;
  /** How many are not taken. */
  readonly left: number;
  /** The subcommand that says why. */
  readonly command: string;
  readonly words?: ComparedWords;
}

export function sayComparison(
  shell: Shell,
  lines: readonly ComparedLine[],
  { title, facts, left, command, words }: ComparisonView,
): void {
  shell.document({
    ...facts,
    lines: lines.map(({ comparison: { same, differences }, ...line }) => ({
      ...line,
      same,
      differences: differences.map(({ at, ...rest }) => ({ at: utcText(at), ...rest })),
    })),
  });
  shell.say(title);
  const width = Math.max(0, ...lines.map(({ name }) => name.length));
  for (const { name, comparison } of lines) {
    const [first = '', ...more] = compareWords(comparison, words);
    const isSame = comparison.differences.length === 0;
    shell.say(`${paint('bold', name.padEnd(width))}  ${paint(isSame ? null : 'yellow', cleanLine(first))}`);
    for (const line of more) shell.say(`  ${line}`);
  }
  if (left > 0) shell.say(`not compared: ${left} not taken (tock import ${command} says why)`);
}
