// All statements of the store: each is understood by the server, and no two columns of a result have the same name,
// since the driver would keep only the last.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { definedStatements } from '../../src/store/connection/statement.js';
import { UNREADABLE_OIDS } from '../../src/store/connection/values/own-types.js';
import { openClient } from '../support/embedded-database.js';
import { openOnce } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const STORE = path.join(import.meta.dirname, '../../src/store');
for (const name of readdirSync(STORE, { recursive: true, encoding: 'utf8' }).sort())
  if (name.endsWith('.ts')) await import(path.join(STORE, name));

const statements = [...definedStatements().values()].filter(({ name }) => !name.startsWith('test: '));

interface Column {
  readonly name: string;
  readonly dataTypeID: number;
}

/** Has a statement parsed and described, but not executed. */
function columnsOf(client: pg.Client, text: string): Promise<readonly Column[]> {
  return new Promise((resolve, reject) => {
    let columns: readonly Column[] = [];
    let failure: Error | null = null;
    interface Wire {
      parse(query: { text: string; name: string; types: never[] }): void;
      describe(what: { type: 'S'; name: string }): void;
      sync(): void;
    }
    const query = {
      submit(connection: Wire) {
        connection.parse({ text, name: '', types: [] });
        connection.describe({ type: 'S', name: '' });
        connection.sync();
      },
      handleRowDescription({ fields }: { fields: readonly Column[] }) {
        columns = fields;
      },
      handleError(error: Error) {
        failure = error;
        reject(error);
      },
      handleReadyForQuery() {
        if (failure === null) resolve(columns);
      },
    };
    client.query(query as unknown as pg.Submittable);
  });
}

describe('statements', () => {
  const test = openOnce(openTestTock);
  const client = openOnce(() => openClient(test.url));

  it('have all been found', () => {
    expect(statements.length).toBeGreaterThan(200);
  });

  it.each(statements.map(({ name, text }) => [name, text]))(
    '%s: the server knows it, its columns are distinct, and no setting of the session changes their text',
    { tags: 'check' },
    async (_name, text) => {
      const columns = await columnsOf(client, text);
      const names = columns.map(column => column.name);
      expect(names).toEqual([...new Set(names)]);
      expect(columns.filter(column => UNREADABLE_OIDS.has(column.dataTypeID))).toEqual([]);
    },
  );

  it('would be found out', async () => {
    expect(await columnsOf(client, 'select 1 as a, 2 as a')).toMatchObject([{ name: 'a' }, { name: 'a' }]);
    const [instant] = await columnsOf(client, 'select now()');
    expect(UNREADABLE_OIDS.has(instant?.dataTypeID ?? 0)).toBe(true);
    await expect(columnsOf(client, 'select nothing from tock.job_runs_live')).rejects.toThrow('nothing');
  });
});
