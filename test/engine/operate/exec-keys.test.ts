// Engine: the keys of `tock exec`.
import { expect, it } from 'vitest';
import type { OpenedTock } from '../../../src/tock/types.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const test = openForEach(
  () => reuseTestTock([]),
  ({ setClock }) => setClock('2026-03-01T12:00:00Z'),
);

it('are of one name, whatever name and key look like together', async () => {
  const begin = async (name: string, key: string) =>
    await (test.tock as unknown as OpenedTock).beginExec(
      { name, key, overlap: 'allow_all', maxAttempts: 1, command: ['true'] },
      new AbortController().signal,
    );
  const begun = [await begin('a', 'b:c'), await begin('a:b', 'c'), await begin('a', 'b:c')];
  expect(begun.map(({ kind }) => kind)).toEqual(['begun', 'begun', 'taken']);
});
