// Tock, by its public API only: dist/index.js, as a user of the package has it.
// In: a database's URL. Out: what every contestant gives (see contestants/index.mjs); the same from another dist/.

/** @param dist the URL of an index.js, such as that of another commit (lib/commit.mjs) */
export async function tockFrom(dist) {
  const library = await import(dist);
  return contestantOf((url, settings) => open(library, url, settings));
}

/**
 * `limit`: so many of its runs at once for each value of `key` in the payload. `lines`: so many that each run logs, of
 * `length` characters; `logs`: which of them are kept.
 */
function open(
  { createTock, defineJob },
  url,
  { handler = () => null, connections = 10, limit, lines = 0, length = 100, logs = true } = {},
) {
  const text = 'x'.repeat(length);
  const speak = ({ log }) => {
    for (let n = 0; n < lines; n++) log.info({ n }, text);
  };
  const concurrency = limit && { limit, key: ({ key }) => key };
  return createTock({
    connectionString: url,
    jobs: [
      defineJob({
        name: 'noop',
        ...(concurrency ? { concurrency } : {}),
        run:
          lines === 0
            ? (_, payload) => handler(payload)
            : (ctx, payload) => {
                speak(ctx);
                return handler(payload);
              },
      }),
    ],
    connections,
    logs,
    logger: false,
  });
}

const contestantOf = openAt => ({
  name: 'pg-tock',
  settings: { concurrency: 100 },
  install: async url => {
    const each = openAt(url);
    await each.migrate();
    await each.register();
    await each.close();
  },
  producer: async (url, jobs) => {
    const each = openAt(url, jobs);
    return {
      add: async (payload, options) => await each.enqueue('noop', payload, options),
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
  worker: async (url, { concurrency, queues, ...settings }) => {
    const each = openAt(url, settings);
    await each.start({ concurrency, ...(queues ? { queues } : {}) });
    return { stop: async () => await each.close() };
  },
  /** How many runs have succeeded, and how many are left. */
  counts: `select (select count(*) from tock.job_runs where status = 'succeeded')::int as finished,
    (select count(*) from tock.job_runs_live)::int as waiting`,
  keepsHistory: true,
  canKey: true,
  adapter: {
    system: 'tock',
    package: '../../package.json',
    settings: workers => ({ concurrency: workers }),
    schema: 'tock',
    hot: 'job_runs_live',
    tables: 'job_runs_live|job_runs_finished_.*|job_slots|job_outbox|workers',
    schemaVersion: 'select max(name) as version from tock.migrations',
    depth: `select count(*)::int as depth from tock.job_runs_live where status <> 'running' and run_at <= now()`,
    unfinished: `select (payload->>'n')::int as n from tock.job_runs_live where payload->>'s' = $1`,
  },
});

export const tock = await tockFrom(new URL('../../dist/index.js', import.meta.url).href);
