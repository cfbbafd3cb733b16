// The jobs of the tests of logs: they speak, and some of them die.
import { defineJob } from '../../src/index.js';
import { until } from '../support/until.js';

interface Tables {
  releases: { at: Date };
}

/** Speaks, and waits until the table `releases` has a row. */
const talks = defineJob({
  name: 'talks',
  retry: { base: 1, backoff: 'fixed', jitter: 0 },
  async run({ log, db }) {
    log.info({}, 'begun');
    let isTold = false;
    await until(async () => {
      const rows = await db.withTables<Tables>().selectFrom('releases').selectAll().execute();
      if (rows.length === 0 && !isTold) log.info({}, 'waiting');
      isTold = true;
      return rows.length > 0;
    }, 'a release');
    log.warn({}, 'released');
  },
});

const isolated = defineJob({
  name: 'talks-isolated',
  isolate: true,
  run({ log }) {
    log.child({ tenant: 'a' }).info({ n: 1 }, 'one');
    log.error({ err: new RangeError('too far') }, 'two');
    log.debug({}, 'not kept');
    log.info({}, 'é'.repeat(10));
  },
});

const dies = defineJob({
  name: 'talks-and-dies',
  isolate: true,
  retry: { maxAttempts: 1 },
  run({ log }) {
    log.info({}, 'last words');
    process.kill(process.pid, 'SIGKILL');
    return new Promise(() => undefined);
  },
});

const much = defineJob({
  name: 'talks-much',
  isolate: true,
  run({ log }) {
    for (let count = 0; count < 1000; count++) log.info({}, `line ${count}`);
  },
});

/** Its first attempt fails; it speaks in escape sequences. */
const hostile = defineJob({
  name: 'talks-twice',
  retry: { base: 1, backoff: 'fixed', jitter: 0 },
  run({ log, attempt }) {
    log.info({ attempt, note: '\u001B[31mred' }, `first\n\u001B]0;title\u0007second ${attempt}`);
    if (attempt === 1) throw new Error('again');
  },
});

export const jobs = [talks, isolated, dies, much, hostile];
