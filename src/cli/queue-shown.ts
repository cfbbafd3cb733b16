// `tock queue <name>`: one queue; and names that no queue has.
import { readQueueFlow } from '../answers/queue-flow.js';
import { type BusyKey, readBusyKeys, readQueueLoad, readQueueNames } from '../answers/queues.js';
import { readClock } from '../answers/reads.js';
import { TockError } from '../model/errors.js';
import { turnWords, waitingText } from '../model/explain/fair-turn.js';
import { isMoving } from '../model/explain/queue-flow.js';
import { queueState } from '../model/explain/queue-state.js';
import { quote } from '../model/names.js';
import { didYouMean } from '../model/nearest.js';
import { databaseOf } from '../tock/database-of.js';
import type { Tock } from '../tock/types.js';
import { type Shell, withTock } from './shell.js';
import { cleanLine, cut, paint } from './terminal.js';
import { flowLines, stateWords } from './views/queue/queue-flow-text.js';
import { limitWords, overrideLines } from './views/queue/queue-text.js';
import { localTime } from './views/time-text.js';

const MAX_WAITING = 1_000_000;

/**
 * One queue: its state, its limits, and where it is behind, the rates and when it will be empty.
 * @param hint what else may have been meant
 */
export async function showQueue(shell: Shell, name: string, hint: string): Promise<number> {
  return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) => {
    const database = await databaseOf(tock);
    await requireNamed(tock, name, hint);
    const [load] = await readQueueLoad(database, { name });
    if (load === undefined) {
      shell.document({ queue: null, flow: null, keys: [] });
      shell.say(`${paint('bold', cleanLine(name))}: no run waits in it or runs, and it has no limits`);
      return 0;
    }
    const now = await readClock(database);
    const flow = await readQueueFlow(database, load, { now, limit: MAX_WAITING });
    const keys = await readBusyKeys(database, name, 5);
    shell.document({ queue: load, flow, keys });
    shell.say(`${paint('bold', cleanLine(name))}: ${stateWords(load, now)}`);
    const limits = limitWords(load);
    const changed = overrideLines(load);
    const isAsStated = load.inCode !== null && changed.length === 0;
    if (limits !== '' || isAsStated)
      shell.say(`  ${paint('dim', 'limits')}   ${limits || 'none'}${isAsStated ? ' (in code)' : ''}`);
    for (const line of changed) shell.say(`  ${line}`);
    for (const line of flow === null ? [] : flowLines(flow, isMoving(queueState(load, now)))) shell.say(line);
    if (keys.length > 0) shell.say(`  ${paint('dim', 'keys')}     those with most runs (tock key show KEY)`);
    for (const key of keys) shell.say(`    ${keyLine(key)}`);
    return 0;
  });
}

/** `17: 40 running, more than 1000 waiting; it has 40 of 40 at once`. */
function keyLine(key: BusyKey): string {
  const words = turnWords(key, at => `at ${localTime(at)}`);
  return `${cut(cleanLine(key.key), 60)}: ${key.running} running, ${waitingText(key.waiting)} waiting; ${words}`;
}

/**
 * A misspelt queue would be paused, and the one that was meant would go on.
 * @param hint what to do if it is meant all the same, or what else may be meant
 */
export async function requireNamed(tock: Tock, name: string, hint = ''): Promise<void> {
  const names = await readQueueNames(await databaseOf(tock));
  if (names.includes(name)) return;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `no run, definition or limit names the queue ${quote(name)}${didYouMean(name, names) || ' (tock queue lists the queues)'}${hint}`,
  );
}
