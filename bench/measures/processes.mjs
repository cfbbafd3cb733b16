// Four processes beside one, over the same backlog.
// In: a server. Out: runs/s of each contestant with one and with four.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { startChild } from '../lib/child.mjs';
import { settle, withDatabase } from '../lib/database.mjs';
import { demandFinished, fill, inTurn } from '../lib/measure.mjs';

const MANY = 4;

export const processes = {
  name: 'processes',
  title: `No-op runs per second, one process and ${MANY}`,
  unit: 'runs/s',
  better: 'higher',
  defaults: { rounds: 3, runs: 300_000 },
  async run({ url: server, rounds, runs, say, nodeFlags, only }) {
    const variants = [];
    for (const who of ['tock', 'graphile', 'boss']) {
      if (only !== undefined && !only.includes(who)) continue;
      const { name, settings } = await contestant(who);
      for (const processes of [1, MANY])
        variants.push({
          who,
          processes,
          label: `${name}, ${processes === 1 ? 'one' : processes}`,
          config: settings,
        });
    }
    const measure = async ({ who, processes, config }) =>
      await withDatabase(server, async ({ url, sql }) => {
        await (await contestant(who)).install(url);
        await fill(who, url, runs);
        await settle(sql);
        const children = Array.from({ length: processes }, () =>
          startChild({ role: 'serve', who, settings: config, url, nodeFlags, waits: true }),
        );
        await Promise.all(children.map(({ next }) => next('ready')));
        const began = performance.now();
        for (const child of children) child.tell('go');
        const done = () => children.reduce((sum, { latest }) => sum + (latest.done ?? 0), 0);
        const results = Promise.all(children.map(({ result }) => result));
        while (done() < runs) await Promise.race([sleep(5), results]);
        for (const child of children) child.tell('stop');
        const found = await results;
        const seconds = (performance.now() - began) / 1000;
        const shares = found.map(({ handled }) => handled);
        await demandFinished(who, sql, {
          handled: shares.reduce((sum, each) => sum + each, 0),
          expected: runs,
        });
        return { value: runs / seconds, seconds, shares };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'runs/s' });
    return {
      rows: rows.map((row, index) =>
        variants[index].processes === 1 ? row : { ...row, ratio: row.median / rows[index - 1].median },
      ),
      ratioTitle: 'beside one',
      notes: ['from when they are told to go, with their modules loaded, until the last has stopped'],
    };
  },
};
