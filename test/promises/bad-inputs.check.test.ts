// Bad inputs, through every door: what is refused writes nothing and says what to do. This test writes (vitest -u) and
// holds bad-inputs.golden.txt, each answer word for word, and docs/bad-inputs.md, one answer for each kind of input.
import type pg from 'pg';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createTock, defineJob, TockError } from '../../src/index.js';
import { openCliHarness } from '../cli/cli-harness.js';
import { openClient } from '../support/embedded-database.js';
import { openOnce } from '../support/open.js';
import { type BadInput, REFUSED } from './bad-inputs.js';

const jobs = [
  defineJob({ name: 'plain', run: () => null }),
  defineJob({ name: 'typed', payload: z.object({ n: z.number() }), run: () => null }),
];
/** What tock.enqueue raises itself. PostgreSQL's own hints change with its versions. */
const OURS = ['22023', '54000'];
/** Processes at once. */
const AT_ONCE = 4;

const harness = openOnce(() => openCliHarness({ fixture: 'test/promises/bad-inputs-jobs.ts' }));
const client = openOnce(() => openClient(harness.url));
const tock = openOnce(() => createTock({ connectionString: harness.url, jobs, logger: false }));

interface Answers {
  readonly code: string | null;
  readonly sql: string | null;
  readonly cli: string | null;
}

async function answersOf(each: BadInput): Promise<Answers> {
  return {
    code: each.code ? await answerOfCode(each.code) : null,
    sql: each.sql ? await answerOfSql(each.sql) : null,
    cli: each.cli ? await answerOfCli(each.cli, each.env) : null,
  };
}

async function answerOfCode(call: NonNullable<BadInput['code']>): Promise<string> {
  try {
    await call(tock);
  } catch (error) {
    if (error instanceof TockError) return `\`${error.code}\`: ${error.message}`;
    return `NOT TYPED: ${String(error)}`;
  }
  return 'NOT REFUSED';
}

async function answerOfSql([text, ...values]: NonNullable<BadInput['sql']>): Promise<string> {
  try {
    await client.query(text, values);
  } catch (error) {
    const { code, message, hint } = error as pg.DatabaseError;
    return `\`${code}\`: ${message}${hint && OURS.includes(code ?? '') ? ` (${hint})` : ''}`;
  }
  return 'NOT REFUSED';
}

async function answerOfCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, stderr, stdout } = await harness.tock(args, { env });
  if (code === 0) return 'NOT REFUSED';
  expect(stdout).toBe('');
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  return `exit ${code}: ${stderr.trim()}`;
}

/** Rows of every table of the schema. */
async function countRows(): Promise<unknown> {
  const { rows } = await client.query(
    `select relname, (xpath('/row/n/text()', query_to_xml('select count(*) as n from tock.' || quote_ident(relname), true, true, '')))[1]::text as n
     from pg_class where relnamespace = 'tock'::regnamespace and relkind in ('r', 'p') order by 1`,
  );
  return rows;
}

/** An answer as it is in the golden file. */
const plain = (answer: string) =>
  answer
    // Where defineJob was called.
    .replaceAll(/\S*bad-inputs\.ts:\d+: /g, '')
    .replaceAll(/(.)\1{40,}/g, '$1…')
    // oxlint-disable-next-line no-control-regex -- such characters are what some inputs are made of
    .replaceAll(/[\0-\u001f]/g, ' ');

interface Row {
  readonly kind: string;
  readonly code: string;
  readonly inputs: string[];
  readonly states: Set<string>;
  /** Of its first input, without the advice at its end. */
  readonly message: string;
}

/** Inputs of one kind that code refuses with one error code share a row. */
function toRows(answered: readonly (readonly [BadInput, Answers])[]): Row[] {
  const rows: Row[] = [];
  for (const [{ input }, { code, sql, cli }] of answered) {
    const [, kind = '', name = ''] = /^(.*?): (.*)$/.exec(input) ?? [];
    const [, error = '', message = cli ?? ''] =
      /^(`\w+`): (?:job "(?:[^"\\]|\\.)*": )?(.*)$/.exec(code ?? '') ?? [];
    const known = rows.find(each => each.kind === kind && (error === '' || each.code === error));
    const row: Row = known ?? {
      kind,
      code: error,
      inputs: [],
      states: new Set(),
      message: message.replace(/; [^"]*$/, ''),
    };
    if (!known) rows.push(row);
    row.inputs.push(name);
    const [, state] = /^(`\w+`): /.exec(sql ?? '') ?? [];
    if (state !== undefined) row.states.add(state);
  }
  return rows;
}

const cells = ({ kind, inputs, code, states, message }: Row) =>
  [`${kind}: ${inputs.join(', ')}`, code, [...states].join(', '), message]
    .map(each => each.replaceAll('|', '\\|').replaceAll('<', '&lt;'))
    .join(' | ');

it('refuses each at every door, writes nothing, and answers as docs/bad-inputs.md says', async () => {
  const before = await countRows();
  const answers = new Map<BadInput, Answers>();
  const queue = [...REFUSED];
  // One connection for SQL: statements of its own queue up there.
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let each = queue.shift(); each; each = queue.shift()) answers.set(each, await answersOf(each));
    }),
  );
  const answered = REFUSED.map(each => {
    const { code, sql, cli } = answers.get(each) ?? { code: null, sql: null, cli: null };
    const told = (answer: string | null) => (answer === null ? null : plain(answer));
    return [each, { code: told(code), sql: told(sql), cli: told(cli) }] as const;
  });
  const golden = answered.flatMap(([{ input }, doors]) => [
    input,
    ...Object.entries(doors).flatMap(([door, answer]) => (answer === null ? [] : [`  ${door}: ${answer}`])),
  ]);
  if (process.env['SHOW']) console.log(golden.join('\n'));
  expect(REFUSED.length).toBeGreaterThanOrEqual(60);
  expect(golden.filter(line => /NOT (?:REFUSED|TYPED)/.test(line))).toEqual([]);
  expect(golden.join('\n')).not.toContain('hunter2');
  expect(await countRows()).toEqual(before);
  await expect(`${golden.join('\n')}\n`).toMatchFileSnapshot('bad-inputs.golden.txt');

  const exits = answered.flatMap(([, { cli }]) => (cli === null ? [] : [cli.slice(0, 'exit 2: '.length)]));
  expect(exits.filter(each => each !== 'exit 2: ')).toEqual(['exit 1: ']);
  const page = `<!-- Generated by test/promises/bad-inputs.check.test.ts (npx vitest run test/promises -u). Do not edit. -->

# Bad inputs

What is refused in code (\`createTock\`, \`defineJob\`), in SQL (\`tock.enqueue\`) and on the command line. Nothing is
written in any of these cases. The command line exits with 2 (\`alerts mute\` of an unknown name with 1), and says the
same as code or what is wrong with its option. Of each row the table has the beginning of one message; the
test (\`test/promises/bad-inputs.golden.txt\`) has all, with what to write instead. What handlers throw or return is
never refused: it is made storable.

| input | error | SQLSTATE | message |
| --- | --- | --- | --- |
${toRows(answered)
  .map(row => `| ${cells(row)} |\n`)
  .join('')}`;
  await expect(page).toMatchFileSnapshot('../../docs/bad-inputs.md');
});
