// Mutants that no test can find out, each with the reason: equivalent.json.
// In: mutants. Out: the reason of each that is listed; entries that fit none any more.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './mutants.mjs';

/**
 * @typedef {{ file?: string, text?: string, change?: string, operator?: string, why: string }} Entry what is given must be
 *   the same: the file, the whole line, the change as it is printed, the operator. No line numbers, which move.
 */

/** @returns {Entry[]} */
export const readEquivalents = () =>
  JSON.parse(readFileSync(path.join(ROOT, 'scripts/mutate/equivalent.json'), 'utf8'));

/** @returns {string | null} */
export function whyEquivalent(entries, mutant) {
  return entries.find(entry => fits(entry, mutant))?.why ?? null;
}

/** @returns {Entry[]} entries of these files that no mutant fits; one of all files may fit one of another file */
export function staleEntries(entries, mutants) {
  const files = new Set(mutants.map(mutant => mutant.file));
  return entries.filter(entry => files.has(entry.file) && !mutants.some(mutant => fits(entry, mutant)));
}

const fits = (entry, mutant) =>
  ['file', 'text', 'change', 'operator'].every(key => entry[key] === undefined || entry[key] === mutant[key]);
