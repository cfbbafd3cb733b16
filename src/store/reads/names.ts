// Names for the completion of shells.
import { type DatabaseOptions, openDatabase } from '../connection/database.js';
import { statement } from '../connection/statement.js';

const MAX_NAMES = 500;

const STATEMENTS = {
  definitions: statement<object, { name: string }>(
    'complete-definitions',
    `select d.name from tock.job_definitions d where d.vanished_at is null order by d.name limit ${MAX_NAMES}`,
  ),
  jobs: statement<object, { name: string }>(
    'complete-jobs',
    `select distinct d.job as name from tock.job_definitions d where d.vanished_at is null order by d.job limit ${MAX_NAMES}`,
  ),
  queues: statement<object, { name: string }>(
    'complete-queues',
    `select q.name from tock.job_queues q union select d.queue from tock.job_definitions d order by 1 limit ${MAX_NAMES}`,
  ),
};

/** What names stand for. */
export type NameKind = keyof typeof STATEMENTS;

/** The first 500, in order, over a connection of their own. */
export async function readNames(
  reach: Pick<DatabaseOptions, 'clock' | 'connectionString' | 'schema'>,
  kind: NameKind,
): Promise<string[]> {
  const database = openDatabase({ ...reach, connections: 1 });
  try {
    return (await STATEMENTS[kind].run(database, {})).map(({ name }) => name);
  } finally {
    await database.close();
  }
}
