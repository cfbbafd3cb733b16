// The type Schema against the server's catalogue: every table and column, nullability, defaults, types and unions.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AlertStatus, FlipKind } from '../../../src/model/alerts/judge.js';
import type { ChangeKind } from '../../../src/model/changes/change.js';
import { VIAS } from '../../../src/model/operator.js';
import type { ExceptionKind } from '../../../src/model/planning/exceptions.js';
import { CATCHUP_POLICIES, OVERLAP_POLICIES } from '../../../src/model/planning/policies.js';
import { OUTSIDE_WINDOW } from '../../../src/model/planning/window.js';
import type { HandOffDecision } from '../../../src/model/run/hand-off-record.js';
import type { WaitKind, WaitOutcome } from '../../../src/model/run/run-wait.js';
import { RUN_STATUSES, TRIGGERS } from '../../../src/model/run/states.js';
import type { Shift } from '../../../src/model/schedule/days/shifted-days.js';
import type { Dst } from '../../../src/model/schedule/spec.js';
import type { AlertEventKind } from '../../../src/store/schema/alert-tables.js';
import type { Origin, TickKind, WorkerKind } from '../../../src/store/schema/tables.js';
import type { OutboxKind } from '../../../src/store/schema/wait-table.js';
import { createTestDatabase, openClient } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';

const SOURCE = [
  'alert-tables.ts',
  'fair-tables.ts',
  'figures-tables.ts',
  'run-tables.ts',
  'wait-table.ts',
  'tables.ts',
]
  .map(name => readFileSync(path.join(import.meta.dirname, '../../../src/store/schema', name), 'utf8'))
  .join('\n');

interface Column {
  readonly type: string;
  readonly isNullable: boolean;
  readonly hasDefault: boolean;
}
type Table = Readonly<Record<string, Column>>;

/** What PostgreSQL calls the types that columns are declared with. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  'string[]': 'text[]',
  number: 'integer',
  'number[]': 'integer[]',
  boolean: 'boolean',
  Bigint: 'bigint',
  'Bigint[]': 'bigint[]',
  Timestamp: 'timestamp with time zone',
  Jsonb: 'jsonb',
  Uuid: 'uuid',
  Float: 'double precision',
  Jsonpath: 'jsonpath',
  Oid: 'oid',
  Xid: 'xid',
  Xid8: 'xid8',
  Multirange: 'tstzmultirange',
};

/** The unions that columns are declared with; a value that is none of the union's does not compile. */
const UNIONS: Readonly<Record<string, readonly string[]>> = {
  RunStatus: RUN_STATUSES,
  Trigger: TRIGGERS,
  OverlapPolicy: OVERLAP_POLICIES,
  CatchupPolicy: CATCHUP_POLICIES,
  OutsideWindow: OUTSIDE_WINDOW,
  Shift: Object.keys({ next: 0, previous: 0 } satisfies Record<Shift, 0>),
  Dst: Object.keys({ once: 0, skip: 0, literal: 0 } satisfies Record<Dst, 0>),
  ExceptionKind: Object.keys({ skip: 0, move: 0 } satisfies Record<ExceptionKind, 0>),
  Origin: Object.keys({ code: 0, runtime: 0 } satisfies Record<Origin, 0>),
  Via: VIAS,
  OutboxKind: Object.keys({
    chain: 0,
    dead: 0,
    end: 0,
    wait: 0,
    interval: 0,
    event: 0,
    fair: 0,
  } satisfies Record<OutboxKind, 0>),
  ChangeKind: Object.keys({ ended: 0, failed: 0, waiting: 0 } satisfies Record<ChangeKind, 0>),
  HandOffDecision: Object.keys({ succeeded: 0, failed: 0, dead: 0 } satisfies Record<HandOffDecision, 0>),
  WaitKind: Object.keys({ snooze: 0, sleep: 0, event: 0, runs: 0, group: 0 } satisfies Record<WaitKind, 0>),
  WaitOutcome: Object.keys({ time: 0, timeout: 0, event: 0, ended: 0 } satisfies Record<WaitOutcome, 0>),
  AlertEventKind: Object.keys({ failed: 0, dead: 0, succeeded: 0 } satisfies Record<AlertEventKind, 0>),
  AlertStatus: Object.keys({ up: 0, down: 0 } satisfies Record<AlertStatus, 0>),
  FlipKind: Object.keys({ down: 0, up: 0, reminder: 0 } satisfies Record<FlipKind, 0>),
  TickKind: Object.keys({ tick: 0, daemon: 0, library: 0 } satisfies Record<TickKind, 0>),
  WorkerKind: Object.keys({ tick: 0, daemon: 0, library: 0, manual: 0, relay: 0 } satisfies Record<
    WorkerKind,
    0
  >),
};

function columnOf(declared: string): Column & { readonly union: string | null } {
  let type = declared;
  const unwrap = (pattern: RegExp) => {
    const [, inner] = pattern.exec(type) ?? [];
    if (inner !== undefined) type = inner;
    return inner !== undefined;
  };
  const isNullable = / \| null\b/.test(type);
  type = type.replace(' | null', '');
  const hasDefault = unwrap(/^Defaulted<(.+)>$/);
  type = type.replace(/^Jsonb<\w+>$/, 'Jsonb');
  const union = type in UNIONS ? type : null;
  return { type: union ? 'text' : (TYPES[type] ?? `? ${declared}`), isNullable, hasDefault, union };
}

/** The interfaces of tables.ts, each line a column. A line that is not understood is a column of an unknown type. */
function declaredTables() {
  const interfaces = new Map<string, Record<string, string>>();
  for (const [, name, parent, body] of SOURCE.matchAll(
    /interface (\w+)(?: extends (\w+))? \{\n([\s\S]*?)\n\}/g,
  )) {
    const lines = (body ?? '')
      .split('\n')
      .map(line => /^ {2}(?:'([\w.]+)'|(\w+)): (.+);$/.exec(line) ?? [line, line]);
    const own = Object.fromEntries(lines.map(([, quoted, bare, type]) => [quoted ?? bare, type ?? '']));
    interfaces.set(name ?? '', { ...interfaces.get(parent ?? ''), ...own });
  }
  const tables = Object.entries(interfaces.get('Schema') ?? {});
  return tables.map(([table, name]) => ({ table, columns: Object.entries(interfaces.get(name) ?? {}) }));
}

/** Not one of the partitions of finished runs and of logs, which are made as time goes on. */
const IS_NO_PERIOD = `not exists (
  select from pg_inherits i where i.inhrelid = c.oid and i.inhparent in ('tock.job_runs_finished'::regclass, 'tock.job_logs'::regclass))`;

const CATALOGUE = `
select 'tock.' || c.relname as "table", a.attname as "column",
  case when t.typtype = 'd' then format_type(t.typbasetype, t.typtypmod) else format_type(a.atttypid, a.atttypmod) end as type,
  not a.attnotnull as "isNullable", a.atthasdef or a.attidentity <> '' as "hasDefault"
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
join pg_type t on t.oid = a.atttypid
where c.relnamespace = 'tock'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
  and ${IS_NO_PERIOD}
order by c.relname, a.attnum`;

/** Checks of the form `column = ANY (ARRAY[…])`, of tables and of the types of columns; and what partitions take. */
const CHECKS = `
select 'tock.' || c.relname as "table", pg_get_constraintdef(k.oid) as text
from pg_constraint k join pg_class c on c.oid = k.conrelid
where c.relnamespace = 'tock'::regnamespace and k.contype = 'c' and ${IS_NO_PERIOD}
union all
select 'tock.' || c.relname, replace(pg_get_constraintdef(k.oid), '(VALUE = ', '(' || a.attname || ' = ')
from pg_constraint k join pg_attribute a on a.atttypid = k.contypid and not a.attisdropped join pg_class c on c.oid = a.attrelid
where c.relnamespace = 'tock'::regnamespace and c.relkind in ('r', 'p') and k.contype = 'c' and ${IS_NO_PERIOD}
union all
select 'tock.' || c.relname, 'CHECK ((status = ANY (ARRAY[' || string_agg(quote_literal(w.word[1]) || '::text', ', ') || '])))'
from pg_partition_tree('tock.job_runs') t join pg_class c on c.oid = t.relid
  cross join pg_inherits i join pg_class p on p.oid = i.inhrelid
  cross join lateral regexp_matches(pg_get_expr(p.relpartbound, p.oid), '''(\\w+)''', 'g') w(word)
where i.inhparent = 'tock.job_runs'::regclass and ${IS_NO_PERIOD}
group by c.relname`;

describe('the type Schema', () => {
  const database = openOnce(() => createTestDatabase('schema'));
  const client = openOnce(() => openClient(database.url));

  it('has the tables and columns of the catalogue, no more and no fewer, with their types', async () => {
    const { rows } = await client.query<Column & { table: string; column: string }>(CATALOGUE);
    const there: Record<string, Record<string, Column>> = {};
    for (const { table, column, ...rest } of rows) (there[table] ??= {})[column] = rest;
    const here = declaredTables().map(({ table, columns }): [string, Table] => [
      table,
      Object.fromEntries(
        columns.map(([column, declared]) => {
          const { union: _, ...rest } = columnOf(declared);
          return [column, rest];
        }),
      ),
    ]);
    expect(Object.fromEntries(here)).toEqual(there);
    expect(here.length).toBeGreaterThan(12);
  });

  it('has a union wherever the server allows certain words only, and of these words', async () => {
    const { rows } = await client.query<{ table: string; text: string }>(CHECKS);
    const there = rows.flatMap(({ table, text }) => {
      const [, column, list] = /^CHECK \(\((\w+) = ANY \(ARRAY\[(.+)\]\)\)\)$/.exec(text) ?? [];
      const words = [...(list ?? '').matchAll(/'(\w+)'::text/g)].map(([, word]) => word ?? '');
      return column === undefined ? [] : [{ column: `${table}.${column}`, words: words.sort() }];
    });
    const here = declaredTables().flatMap(({ table, columns }) =>
      columns.flatMap(([column, declared]) => {
        const { union } = columnOf(declared);
        return union === null
          ? []
          : [{ column: `${table}.${column}`, words: [...(UNIONS[union] ?? [])].sort() }];
      }),
    );
    const byColumn = (a: { column: string }, b: { column: string }) => (a.column < b.column ? -1 : 1);
    expect(here.sort(byColumn)).toEqual(there.sort(byColumn));
    expect(here.length).toBeGreaterThan(8);
  });
});
