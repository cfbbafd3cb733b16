// Room: test support. A process that executes runs in virtual time, over the database of a test, whose time goes along.
// In: the test's Tock, and when it begins. Out: an engine, and the clock of both.
import type { Engine } from '../../src/engine/engine.js';
import type { AnyJob } from '../../src/model/job/job.js';
import { openDatabase } from './database.js';
import { engineOver } from './engine.js';
import type { TestTock } from './test-tock.js';
import { createVirtualClock, type VirtualClock } from './virtual-clock.js';
import { watchPool } from './watched-pool.js';

export interface VirtualProcess {
  readonly engine: Engine;
  /** Moves `tock.now()` too. Between its timers all settles that the engine has begun. */
  readonly clock: VirtualClock;
  /** Each statement that the engine has sent by itself, and when, in milliseconds since the beginning. */
  readonly sent: readonly { readonly at: number; readonly text: string }[];
  /** How long each statement takes that the process sends from now on, in virtual milliseconds. At first 0. */
  roundTripMs: number;
  /** Time may have to go on for what ends it, such as a drain. */
  readonly close: () => Promise<void>;
}

/** @param startsAt of `tock.now()`; the clock of the process begins with 0 */
export async function openVirtualProcess(
  test: TestTock,
  startsAt: string,
  jobs: readonly AnyJob[],
  more: Partial<Engine> = {},
): Promise<VirtualProcess> {
  const watched = watchPool(
    { connectionString: test.url, max: 10 },
    (channel, payload) => test.sql('select pg_notify($1, $2)', [channel, payload]),
    () => (opened.roundTripMs === 0 ? null : clock.sleep(opened.roundTripMs)),
  );
  const instant = (ms: number) => new Date(Date.parse(startsAt) + ms).toISOString();
  const clock = createVirtualClock({
    settle: watched.settled,
    onMoved: now => test.setClock(instant(now)),
  });
  await test.setClock(instant(0));
  const database = openDatabase({ clock, pool: watched.pool });
  const sent: { at: number; text: string }[] = [];
  const recorded: typeof database = {
    ...database,
    async run<Row>(...statement: Parameters<typeof database.run>) {
      sent.push({ at: clock.now(), text: statement[0] });
      return await database.run<Row>(...statement);
    },
  };
  const opened: VirtualProcess = {
    roundTripMs: 0,
    engine: engineOver(recorded, jobs, { clock, ...more }),
    clock,
    sent,
    close: async () => {
      await database.close();
      await watched.end();
    },
  };
  return opened;
}
