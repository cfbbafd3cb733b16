// Room: test support. What some tests need beside npm's packages: programs of Debian's, other schedulers.
// In: names of scripts/support/needs.json. Out: whether one is not installed, for `describe.skipIf`; a program's path.
import { createRequire } from 'node:module';
import type list from '../../scripts/support/needs.json';

interface Needs {
  readonly lacks: (...names: readonly (keyof typeof list)[]) => boolean;
  readonly programPath: (name: string) => string | null;
}

export const { lacks, programPath } = createRequire(import.meta.url)(
  '../../scripts/support/needs.mjs',
) as Needs;
