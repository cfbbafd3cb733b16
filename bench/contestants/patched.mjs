// Tock with claims and heartbeats that do not wait for a standby: an experiment, made in the texts of its statements.
// In: a database's URL, and `commit`: what synchronous_commit is for them. Out: what every contestant gives.
import { openSync, writeSync } from 'node:fs';
import pg from 'pg';
import { createTock, defineJob } from '../../dist/index.js';
import { tock } from './tock.mjs';

/** By what a claim and a heartbeat are known, and what they become: the setting counts for their own transaction. */
const PLACES = [
  ['attempts = r.attempts + 1,', setting => `attempts = r.attempts + (select length(${setting}) * 0 + 1),`],
  [
    'set locked_until = tock.now() +',
    setting => `set locked_until = tock.now() + (select length(${setting}) * 0) * interval '1 s' +`,
  ],
];

/** @returns how often each of the places was found, and a client that sends the changed texts */
function clientFor(commit) {
  const setting = `set_config('synchronous_commit', '${commit}', true)`;
  const changed = new Map();
  const change = text => {
    const known = changed.get(text);
    if (known !== undefined) return known;
    const made = PLACES.reduce(
      (sofar, [from, to]) => (sofar.includes(from) ? sofar.replace(from, () => to(setting)) : sofar),
      text,
    );
    changed.set(text, made);
    return made;
  };
  class Patched extends pg.Client {
    query(config, ...rest) {
      if (typeof config === 'string') return super.query(change(config), ...rest);
      if (typeof config?.text === 'string')
        return super.query({ ...config, text: change(config.text) }, ...rest);
      return super.query(config, ...rest);
    }
  }
  const count = () => [...changed].filter(([from, to]) => from !== to).length;
  return { Client: Patched, count };
}

export const patched = {
  ...tock,
  /** @param journal a file that gets `<run>.<fence>` of each attempt that begins */
  worker: async (url, { concurrency, handler, commit, journal }) => {
    const { Client, count } = commit === undefined ? { Client: pg.Client } : clientFor(commit);
    const pool = new pg.Pool({ connectionString: url, max: 10, Client });
    const file = journal === undefined ? null : openSync(journal, 'a');
    const each = createTock({
      pool,
      jobs: [
        defineJob({
          name: 'noop',
          run: (ctx, payload) => {
            if (file !== null) writeSync(file, `${ctx.runId}.${ctx.fence}\n`);
            return handler(payload);
          },
        }),
      ],
      logger: false,
    });
    await each.start({ concurrency });
    return {
      stop: async () => {
        await each.close();
        await pool.end();
        if (count?.() === 0)
          throw new Error('no claim was found among the statements: the experiment shows nothing');
      },
    };
  },
};
