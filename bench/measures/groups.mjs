// A group and its join beside as many plain runs: enqueued at once, then executed by one process.
// In: a server. Out: members and join a second, from the start of the worker to the end of the join; what enqueuing
// took.
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { withDatabase } from '../lib/database.mjs';
import { drain, figure, inTurn } from '../lib/measure.mjs';

export const groups = {
  name: 'groups',
  title: 'A group of 10,000 and its join, one process',
  unit: 'runs/s',
  better: 'higher',
  defaults: { rounds: 7, runs: 10_000 },
  async run({ url: server, rounds, runs, say, nodeFlags, only }) {
    const { settings: tock } = await contestant('tock');
    const { settings: boss, flows } = await contestant('boss');
    const { settings: bull } = await contestant('bull');
    const variants = [
      { who: 'tock', label: 'pg-tock, plain runs', config: tock, isGroup: false },
      { who: 'tock', label: 'pg-tock, a group', config: tock, isGroup: true },
      { who: 'boss', label: 'pg-boss, plain jobs', config: boss, isGroup: false },
      { who: 'boss', label: 'pg-boss, flow(), each second', config: flows, isGroup: true },
      { who: 'boss', label: 'pg-boss, flow()', config: { ...boss, supervise: true }, isGroup: true },
      { who: 'bull', label: 'BullMQ on PostgreSQL, plain jobs', config: bull, isGroup: false },
      { who: 'bull', label: 'BullMQ on PostgreSQL, FlowProducer', config: bull, isGroup: true },
    ].filter(({ who }) => only === undefined || only.includes(who));
    const measure = async ({ who, config, isGroup }) =>
      await withDatabase(server, async ({ url, sql }) => {
        const { install, producer } = await contestant(who);
        await install(url);
        const producing = await producer(url);
        // Connected, and each statement seen once.
        await producing.addMany([{ n: -1 }]);
        const payloads = Array.from({ length: runs }, (_, n) => ({ n }));
        const began = performance.now();
        if (isGroup) await producing.addGroup(payloads);
        else await producing.addMany(payloads);
        const enqueued = performance.now() - began;
        await producing.close();
        const count = 1 + runs + (isGroup ? 1 : 0);
        const { seconds } = await drain({ who, settings: config, url, sql, count, nodeFlags });
        return { value: count / seconds, enqueued };
      });
    const rows = await inTurn({ variants, rounds, measure, say, unit: 'runs/s' });
    return {
      rows: rows.map((row, index) => ({
        ...row,
        ...(index > 0 && { ratio: row.median / rows[0].median }),
        extra: { 'enqueued in, ms': figure(median(row.rounds.map(each => each.enqueued))) },
      })),
      ratioTitle: 'beside plain runs',
      notes: [
        'from the start of the worker until the join has ended; enqueuing, in one transaction, by itself',
        'graphile-worker has no jobs that wait for others',
        'pg-boss resolves its flows while it supervises: each 5 s, or each second, the most often that it can',
      ],
    };
  },
};
