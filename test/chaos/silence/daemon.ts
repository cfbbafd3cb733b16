// A process with one daemon, which says each time before it polls or claims. Bundled by esbuild, with or without a fault.
// In: DATABASE_URL; DAEMON: its options, as JSON. Out: lines of JSON, see Said.
import { startDaemon } from '../../../src/daemon/daemon.js';
import { readSettings } from '../../../src/engine/engine.js';
import { systemClock } from '../../../src/environment/system-clock.js';
import { type Database, openDatabase } from '../../../src/store/connection/database.js';
import { definedStatements } from '../../../src/store/connection/statement.js';
import { engineOver } from '../../support/engine.js';
import type { Said } from './check.js';
import { NEWER, OLDER } from './jobs.js';

export interface DaemonWish {
  readonly concurrency: number;
  readonly listen: boolean;
  /** Its code lacks some jobs. */
  readonly isOlder: boolean;
}

/** The minute turns never: that would mend what was missed. */
const BEAT = { expression: '0 0 29 2 *', maxPauseMs: 3_600_000 };
const QUESTION = definedStatements().get('next-due')?.text;
const CLAIMS = new Map(
  (
    [
      ['claim', 'everywhere'],
      ['claim-in-lane', 'some'],
      ['claim-in-lanes', 'some'],
    ] as const
  ).map(([name, claims]) => [definedStatements().get(name)?.text, claims]),
);

const { concurrency, listen, isOlder } = JSON.parse(process.env['DAEMON'] ?? '') as DaemonWish;
const say = (said: Said) => process.stdout.write(`${JSON.stringify(said)}\n`);
let isStopping = false;

const database = openDatabase({ clock: systemClock, connectionString: process.env['DATABASE_URL'] ?? '' });
const asking: Database = {
  ...database,
  async run<Row>(...statement: Parameters<Database['run']>) {
    if (statement[0] === QUESTION && !isStopping) {
      const [now] = await database.run<{ at: number; snapshot: string }>(
        'select (extract(epoch from statement_timestamp()) * 1000)::float8 as at, pg_current_snapshot()::text as snapshot',
      );
      // Its first parameter: the queues of the watermarks below which it does not look.
      const isComplete = (statement[1] as readonly (readonly string[])[])[0]?.length === 0;
      if (now !== undefined) say({ ...now, isComplete });
    }
    const claims = CLAIMS.get(statement[0]);
    if (claims !== undefined) say({ claims });
    return await database.run<Row>(...statement);
  },
};
const settings = readSettings({ lease: '6s', heartbeat: '1s', grace: '300ms', drain: '1s' });
const engine = engineOver(asking, isOlder ? OLDER : NEWER, { settings });
const daemon = await startDaemon(engine, { concurrency, listen }, undefined, BEAT);
say({ worker: daemon.id });
process.once('SIGTERM', () => {
  isStopping = true;
  void daemon.stop().then(() => process.exit(0));
});
