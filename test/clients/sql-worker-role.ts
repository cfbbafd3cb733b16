// Room: test support. A role that may claim and answer, and nothing else.
// In: a database. Out: the URL under which it connects, and its end.
import { randomBytes } from 'node:crypto';
import type { TestTock } from '../support/test-tock.js';

export interface SqlWorkerRole {
  readonly name: string;
  readonly url: string;
  /** It may claim from this queue from now on. */
  readonly mayClaimFrom: (queue: string) => Promise<void>;
  readonly drop: () => Promise<void>;
}

export async function makeSqlWorkerRole(test: Pick<TestTock, 'sql' | 'url'>): Promise<SqlWorkerRole> {
  const name = `sql_worker_${randomBytes(6).toString('hex')}`;
  await test.sql(`create role ${name} login password 'secret'`);
  await test.sql(`grant usage on schema tock to ${name}`);
  await test.sql(
    `grant execute on function tock.claim, tock.complete, tock.fail, tock.extend, tock.progress to ${name}`,
  );
  const url = new URL(test.url);
  [url.username, url.password] = [name, 'secret'];
  return {
    name,
    url: url.href,
    mayClaimFrom: async queue =>
      void (await test.sql('insert into tock.queue_roles (queue, role) values ($1, $2)', [queue, name])),
    drop: async () => void (await test.sql(`drop owned by ${name}; drop role ${name}`)),
  };
}
