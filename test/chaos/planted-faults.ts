// The faults of planted-faults.txt.
// In: who is to find them out. Out: what is changed of the source or of the schema, and what must find each.
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** One place of a file below src/, or of a function of the schema, and what it becomes. */
export interface Change {
  readonly place: string;
  readonly from: string;
  readonly to: string;
}

export interface PlantedFault {
  readonly name: string;
  /** A story; or `suite` or `silence`. */
  readonly how: string;
  readonly args: readonly string[];
  readonly found: RegExp;
  readonly changes: readonly Change[];
  /** Of functions of the schema. */
  readonly alterations: readonly Change[];
}

export const PLANTED: readonly PlantedFault[] = readFileSync(
  path.join(import.meta.dirname, 'planted-faults.txt'),
  'utf8',
)
  .replaceAll(/^#.*\n/gm, '')
  .trim()
  .split(/\n{2,}/)
  .map(text => {
    const [name = '', finding = '', ...lines] = text.split('\n');
    const [, how = '', args = '', found = ''] = /^(\S+) (.*)?finds (.+)$/.exec(finding) ?? [];
    const all = Array.from({ length: lines.length / 3 }, (_, index): Change => {
      const [place = '', from = '', to = ''] = lines.slice(index * 3);
      if (!from.startsWith('- ') || !to.startsWith('+')) throw new Error(`cannot be read: ${text}`);
      return { place, from: from.slice(2), to: to.slice(2) };
    });
    const isOfSchema = ({ place }: Change) => place.startsWith('tock.');
    return {
      name,
      how,
      args: args.split(' ').filter(Boolean),
      found: new RegExp(found, 'm'),
      changes: all.filter(each => !isOfSchema(each)),
      alterations: all.filter(isOfSchema),
    };
  });
