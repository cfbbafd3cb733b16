import { describe, expect, it } from 'vitest';
import { type ChangesHead, cursorAt, placeOf, readFrom } from '../../../src/model/changes/cursor.js';

const head: ChangesHead = { origin: '0a1b2c3d', position: 90, keptAfter: 40 };

describe('readFrom', () => {
  it('takes now, oldest, and the cursor of a change', () => {
    expect([undefined, 'now', 'oldest', cursorAt('0a1b2c3d', 7)].map(text => readFrom(text))).toEqual([
      'now',
      'now',
      'oldest',
      { origin: '0a1b2c3d', position: 7 },
    ]);
  });

  it.each([
    '',
    '7',
    '0a1b2c3d-',
    '0a1b2c3d--7',
    '0A1B2C3D-7',
    '0a1b2c3d-7 or 1=1',
    `0a1b2c3d-${'9'.repeat(16)}`,
    7,
    null,
    {},
  ])('refuses %j', text => {
    expect(() => readFrom(text)).toThrow(
      expect.objectContaining({ code: 'TOCK_BAD_CURSOR', message: expect.stringContaining('is no cursor') }),
    );
  });
});

describe('placeOf', () => {
  it('begins at the end, at the oldest change that is kept, or after a cursor', () => {
    const from = ['now', 'oldest', '0a1b2c3d-40', '0a1b2c3d-60', '0a1b2c3d-90'];
    expect(from.map(text => placeOf(readFrom(text), head))).toEqual([90, 40, 40, 60, 90]);
  });

  it('refuses a cursor of another database, and one ahead of this', () => {
    for (const text of ['ffffffff-60', '0a1b2c3d-91'])
      expect(() => placeOf(readFrom(text), head)).toThrow(
        expect.objectContaining({
          code: 'TOCK_BAD_CURSOR',
          message: expect.stringMatching(/none of this database.*runs\.list.*from: 'oldest'/),
        }),
      );
  });

  it('says that changes are missed, and how to go on', () => {
    expect(() => placeOf(readFrom('0a1b2c3d-39'), head)).toThrow(
      expect.objectContaining({
        code: 'TOCK_CHANGES_GONE',
        message: expect.stringMatching(/have been deleted.*from: 'oldest'/),
      }),
    );
  });
});
