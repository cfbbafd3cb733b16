// How Tock's own statements are read, beside the server's own words for the same values.
import { describe, expect, it } from 'vitest';
import { OWN_TYPES } from '../../../src/store/connection/values/own-types.js';
import { createTestDatabase, openClient } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';

const database = openOnce(createTestDatabase);
const client = openOnce(() => openClient(database.url));

const read = async (expression: string): Promise<unknown> =>
  (await client.query<{ value: unknown }>({ text: `select ${expression} as value`, types: OWN_TYPES }))
    .rows[0]?.value;

describe('a value of one of Tock’s statements', () => {
  it.each([
    ['true', true],
    ['false', false],
    ['null::boolean', null],
    ['7::smallint', 7],
    ['-8', -8],
    ['9007199254740993', '9007199254740993'],
    ['1.5::float8', 1.5],
    [`'-Infinity'::float8`, Number.NEGATIVE_INFINITY],
    [`'a'::name`, 'a'],
    [`'{"a": [1, null]}'::jsonb`, { a: [1, null] }],
    [`'"text"'::json`, 'text'],
    ['array[1, null, -3]', [1, null, -3]],
    ['array[0.5, 2]::float8[]', [0.5, 2]],
    ['array[9007199254740993]', ['9007199254740993']],
    [`'{}'::text[]`, []],
    [
      String.raw`array['a', '', 'NULL', null, 'b c', 'd"e', 'f\g', '{h}', ',', E'i\nj']`,
      ['a', '', 'NULL', null, 'b c', 'd"e', 'f\\g', '{h}', ',', 'i\nj'],
    ],
  ])('%s', async (expression, value) => {
    expect(await read(expression)).toEqual(value);
  });

  it.each([
    ['2026-11-25T18:52:12.123456Z', '2026-11-25T18:52:12.123Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999Z'],
    ['1969-12-31T23:59:59.999500Z', '1969-12-31T23:59:59.999Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ])('is a Date where it is the epoch of an instant: %s', async (instant, value) => {
    expect(await read(`extract(epoch from '${instant}'::timestamptz)`)).toEqual(new Date(value));
  });

  it('is a number where the instant is infinite', async () => {
    expect(await read(`extract(epoch from '-infinity'::timestamptz)`)).toBe(Number.NEGATIVE_INFINITY);
  });

  it.each(['now()', 'now()::date', 'now()::timestamp', 'array[now()]', `interval '1 day'`, `'a'::bytea`])(
    'is refused where the session decides how it is written: %s',
    async expression => {
      await expect(read(expression)).rejects.toThrow('select an epoch');
    },
  );

  it('is refused where it is a sum without a cast', async () => {
    await expect(read('sum(3::bigint)')).rejects.toThrow('cast a numeric');
  });
});
