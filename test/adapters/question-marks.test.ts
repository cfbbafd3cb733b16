// Adapters: `$1` to `?`. PostgreSQL itself is the judge: a statement means the same through Knex as through pg.
import knex from 'knex';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { questionMarks } from '../../src/adapters/question-marks.js';
import { fromKnex } from '../../src/adapters.js';
import { createTestDatabase, openClient } from '../support/embedded-database.js';
import { openOnce } from '../support/open.js';

const database = openOnce(createTestDatabase);
const client = openOnce(() => openClient(database.url));
let db: ReturnType<typeof knex>;
beforeAll(() => {
  db = knex({ client: 'pg', connection: database.url });
});
afterAll(async () => {
  await db.destroy();
});

const ALL = '$1::text as one, $2::text as two';

describe('a statement through Knex', () => {
  it.each([
    ['parameters out of order and twice', `select $2::text as a, $1::text as b, $2::text as c`],
    ['operators', `select '{"a":1}'::jsonb ? 'a' as a, '{"a":1}'::jsonb ?| array['b'] as b, ${ALL}`],
    ['more operators', `select '{"a":1}'::jsonb ?& array['a'] as c, '{"a":1}'::jsonb @? '$.a' as d, ${ALL}`],
    ['a path', `select '{"a":[1,2]}'::jsonb @? '$.a[*] ? (@ > 1)' as a, ${ALL}`],
    ['text', `select '$1 ? ?? :name ''$2'' -- /* ' as a, ${ALL}`],
    ['text with escapes', `select E'\\'$1 ?' as a, E'a''\\'$1' as b, e'\\\\' as c, ${ALL}`],
    ['text that ends in a backslash', `select '$1\\' as a, ${ALL}`],
    ['a quoted name', `select 1 as "$1 ? "" '", ${ALL}`],
    ['a name', `select 1 as a$1, 2 as żółć$2, ${ALL}`],
    ['dollar quotes', `select $$ ? $1 ' $$ as a, $b$ $$ ? $1 $c$ $b$ as b, ${ALL}`],
    ['a comment', `select -- ? $1 it\n 1 as a, ${ALL} -- $2`],
    ['an odd quote in a comment', `select -- it's\n 1 as a, ${ALL}`],
    ['a comment in a comment', `select /* ? /* $1 */ ' $2 */ 1 as a, ${ALL} /* ? */`],
    ['a cast and a slice', `select (array[1,2,3])[1:2] as a, '1'::integer as b, ${ALL}`],
    ['no space around a parameter', `select($1::text)||$2::text as a,length($1)as b`],
  ])('means the same: %s', async (_what, text) => {
    const values = ['o?ne $2', "t'wo"];
    expect((await fromKnex(db).query(text, values)).rows).toEqual((await client.query(text, values)).rows);
  });

  it('counts beyond nine', async () => {
    const values = Array.from({ length: 11 }, (_, index) => `v${index + 1}`);
    const text = `select ${values.map((_, index) => `$${11 - index}::text as c${index}`).join(', ')}`;
    expect((await fromKnex(db).query(text, values)).rows).toEqual((await client.query(text, values)).rows);
  });

  it('may have no parameter', async () => {
    expect((await fromKnex(db).query(`select '?' as a`, [])).rows).toEqual([{ a: '?' }]);
  });
});

it.each([
  ['a parameter without a value', 'select $2', ['one']],
  ['the parameter 0', 'select $0', ['one']],
  ['a backslash before a question mark, which Knex would take away', `select '\\?'`, []],
])('questionMarks refuses %s', (_what, text, values) => {
  expect(() => questionMarks(text, values)).toThrowError(
    expect.objectContaining({ name: 'TockError', code: 'TOCK_BAD_OPTION' }),
  );
});
