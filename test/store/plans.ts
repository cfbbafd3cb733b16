// For tests of plans: a database with the schema and a connection to it, and the nodes that EXPLAIN gives.
import pg from 'pg';
import { migrate } from '../../src/store/schema/migrate.js';
import { openDatabase } from '../support/database.js';
import { createTestDatabase } from '../support/embedded-database.js';

export async function openMigrated() {
  const home = await createTestDatabase();
  const database = openDatabase({ connectionString: home.url });
  await migrate(database);
  await database.close();
  const client = new pg.Client({ connectionString: home.url });
  await client.connect();
  const close = async () => {
    await client.end();
    await home.drop();
  };
  return { url: home.url, client, close };
}

export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Total Cost': number;
  readonly Plans?: readonly PlanNode[];
}

/** A node of what was executed, too. */
export interface ExecutedNode extends PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly ExecutedNode[];
}

/** Of the rows of an EXPLAIN in JSON: its nodes, the outermost first. */
export function nodesOf<Node extends PlanNode>(
  rows: readonly { 'QUERY PLAN': readonly { Plan: Node }[] }[],
): Node[] {
  const under = (node: Node): Node[] => [node, ...((node.Plans ?? []) as readonly Node[]).flatMap(under)];
  return rows.flatMap(row => row['QUERY PLAN'].flatMap(({ Plan }) => under(Plan)));
}

/** Rows that were read of the tables that `isIt` names, whether they were used or not. */
export const rowsRead = (nodes: readonly ExecutedNode[], isIt: (table: string) => boolean) =>
  nodes
    .filter(node => isIt(node['Relation Name'] ?? ''))
    .reduce(
      (sum, node) =>
        sum +
        (node['Actual Rows'] +
          (node['Rows Removed by Index Recheck'] ?? 0) +
          (node['Rows Removed by Filter'] ?? 0)) *
          node['Actual Loops'],
      0,
    );
