// Tock, by its public API only: dist/index.js, as a user of the package has it.
// In: a database's URL. Out: what every contestant gives (see contestants/index.mjs).
import { createTock, defineJob } from '../../dist/index.js';

function open(url, run = () => null, connections = 10) {
  return createTock({
    connectionString: url,
    jobs: [defineJob({ name: 'noop', run: (_, payload) => run(payload) })],
    connections,
    logger: false,
  });
}

export const tock = {
  name: 'pg-tock',
  settings: { concurrency: 100 },
  install: async url => {
    const each = open(url);
    await each.migrate();
    await each.register();
    await each.close();
  },
  producer: async url => {
    const each = open(url);
    return {
      add: async payload => await each.enqueue('noop', payload),
      addMany: async (payloads, { keys = false, ...options } = {}) =>
        await each.enqueueMany(
          payloads.map(payload => ({
            job: 'noop',
            payload,
            ...options,
            ...(keys ? { key: `bench-${payload.n}` } : {}),
          })),
        ),
      close: async () => await each.close(),
    };
  },
  worker: async (url, { handler, concurrency, connections }) => {
    const each = open(url, handler, connections);
    await each.start({ concurrency });
    return { stop: async () => await each.close() };
  },
  /** How many runs have succeeded, and how many are left. */
  counts: `select (select count(*) from tock.job_runs where status = 'succeeded')::int as finished,
    (select count(*) from tock.job_runs_live)::int as waiting`,
  keepsHistory: true,
  canKey: true,
};
