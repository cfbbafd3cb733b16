// All statements of the store: their text in a snapshot; each is understood by the server, and no two columns of a
// result have the same name, since the driver would keep only the last.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { definedStatements } from '../../src/store/connection/statement.js';
import { openTestTock, type TestTock } from '../support/test-tock.js';

const STORE = path.join(import.meta.dirname, '../../src/store');
for (const name of readdirSync(STORE, { recursive: true, encoding: 'utf8' }).sort())
  if (name.endsWith('.ts')) await import(path.join(STORE, name));

const statements = [...definedStatements().values()].sort((a, b) => (a.name < b.name ? -1 : 1));

/** Has a statement parsed and described, but not executed. */
function columnsOf(client: pg.Client, text: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let columns: string[] = [];
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
      handleRowDescription(message: { fields: { name: string }[] }) {
        columns = message.fields.map(field => field.name);
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
  let test: TestTock;
  let client: pg.Client;
  beforeAll(async () => {
    test = await openTestTock();
    client = new pg.Client({ connectionString: test.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await test.close();
  });

  it('are these', async () => {
    const text = statements.map(({ name, text }) => `-- ${name}\n${text.trim()};\n`).join('\n');
    await expect(text).toMatchFileSnapshot('../snapshots/statements.sql');
  });

  it.each(statements.map(({ name, text }) => [name, text]))(
    '%s: the server knows it, and its columns are distinct',
    async (_name, text) => {
      const columns = await columnsOf(client, text);
      expect(columns).toEqual([...new Set(columns)]);
    },
  );

  it('would be found out', async () => {
    expect(await columnsOf(client, 'select 1 as a, 2 as a')).toEqual(['a', 'a']);
    await expect(columnsOf(client, 'select nothing from tock.job_runs_live')).rejects.toThrow('nothing');
  });
});
