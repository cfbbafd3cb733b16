// Adapters: Postgres.js, as it is and with its own types of numbers.
import { describe, expect, it } from 'vitest';
import { fromPostgresJs, type PostgresJsLike } from '../../src/adapters.js';
import { lacksDrivers, loadDriver } from '../support/drivers.js';
import { describeAdapter } from './adapter-contract.js';

interface Sql extends PostgresJsLike {
  (parts: TemplateStringsArray, ...values: unknown[]): Promise<unknown[]>;
  begin<T>(work: (tx: Sql) => Promise<T>): Promise<T>;
  end(): Promise<void>;
}
type Postgres = ((url: string, options: object) => Sql) & { readonly BigInt: object };

describe.skipIf(lacksDrivers()).each([
  ['as it is', () => ({})],
  [
    'without prepared statements, with big integers',
    (postgres: Postgres) => ({ prepare: false, types: { bigint: postgres.BigInt } }),
  ],
] as const)('Postgres.js %s', (_how, options) => {
  describeAdapter('fromPostgresJs', async url => {
    const postgres = (await loadDriver<{ default: Postgres }>('postgres')).default;
    const sql = postgres(url, { max: 4, onnotice: () => undefined, ...options(postgres) });
    return {
      transact: async work =>
        await sql.begin(
          async tx =>
            await work(fromPostgresJs(tx), async (id, note) => {
              await tx`insert into invoices (id, note) values (${id}, ${note})`;
            }),
        ),
      outside: fromPostgresJs(sql),
      close: async () => await sql.end(),
    };
  });
});

it('refuses what is no sql of Postgres.js, and says what to pass', () => {
  expect(() => fromPostgresJs({ unsafe: () => Promise.resolve([]) } as never)).toThrow(
    'fromPostgresJs was given something without typed(): pass the tx of sql.begin(async tx => …)',
  );
});
