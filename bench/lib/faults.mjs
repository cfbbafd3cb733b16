// What is done to a contestant's database in a phase. Each begins with the phase, and is gone when `end` has
// resolved.
// In: the server, the database's URL, the contestant's hottest table, the phase's length. Out: `end()`, with
// figures.
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from './database.mjs';

const READERS = 4;
const READ_EVERY_MS = 100;
const KILL_EVERY_MS = 1000;

/** Idle in a transaction that has an id: no row that dies later can be removed. */
export async function holdTransaction({ url }) {
  const session = await connect(url);
  await session.rows('begin');
  await session.rows('select pg_current_xact_id()');
  return { end: async () => await session.close() };
}

/** As reports over the live table: each reads under one snapshot, again and again, for the whole phase. */
export async function readActively({ url, hot }) {
  const stopping = new AbortController();
  const read = async () => {
    const session = await connect(url);
    await session.rows('begin isolation level repeatable read');
    let scans = 0;
    while (!stopping.signal.aborted) {
      await session.rows(`select count(*) from ${hot}`);
      scans++;
      await sleep(READ_EVERY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    await session.close();
    return scans;
  };
  const readers = Promise.all(Array.from({ length: READERS }, read));
  readers.catch(() => undefined);
  return {
    end: async () => {
      stopping.abort();
      return { scans: (await readers).reduce((sum, scans) => sum + scans, 0) };
    },
  };
}

/** Down for the first half of the phase. `backAt`: when it took connections again. */
export async function restartServer({ server, seconds }) {
  const stopping = new AbortController();
  const restart = async () => {
    const downAt = Date.now();
    await server.stop();
    await sleep(Math.max(0, downAt + seconds * 500 - Date.now()), undefined, {
      signal: stopping.signal,
    }).catch(() => undefined);
    await server.start();
    return { downAt, backAt: Date.now() };
  };
  const restarted = restart();
  restarted.catch(() => undefined);
  return {
    end: async () => {
      stopping.abort();
      return await restarted;
    },
  };
}

/** All of the contestant's connections, also those that only listen. */
const KILL = `
select count(*) filter (where pg_terminate_backend(pid))::int as killed from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and application_name <> 'bench'`;

export async function killBackends({ url }) {
  const session = await connect(url);
  const stopping = new AbortController();
  const kill = async () => {
    let killed = 0;
    while (!stopping.signal.aborted) {
      killed += (await session.one(KILL)).killed;
      await sleep(KILL_EVERY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    await session.close();
    return { killed };
  };
  const killing = kill();
  killing.catch(() => undefined);
  return {
    end: async () => {
      stopping.abort();
      return await killing;
    },
  };
}
