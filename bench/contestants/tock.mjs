// Tock, by its public API only: dist/index.js, as a user of the package has it.
// In: a database's URL. Out: what every contestant gives (see contestants/index.mjs); the same from another dist/.

/** @param dist the URL of an index.js, such as that of another commit (lib/commit.mjs) */
export async function tockFrom(dist) {
  const library = await import(dist);
  return contestantOf((url, settings) => open(library, url, settings));
}

/**
 * `limit`: so many of its runs at once for each value of `key` in the payload. `lines`: so many that each run logs, of
 * `length` characters; `logs`: which of them are kept. `waitFor`: an event for which each run waits, by the `n` of its
 * payload; the handler gets what the event tells. `inserts`: each run inserts a row, `by` `db` or `transaction`; `batch`:
 * so many runs by one call. `fair`, `rate`, `changes`: as a job has them. `jobs`: names of no-op jobs, in place of all this;
 * `service`: whose they are.
 */
function open(
  { createTock, defineJob },
  url,
  {
    handler = () => null,
    connections = 10,
    limit,
    lines = 0,
    length = 100,
    logs = true,
    waitFor,
    inserts,
    fair,
    rate,
    changes,
    jobs,
    service,
  } = {},
) {
  const text = 'x'.repeat(length);
  const speak = ({ log }) => {
    for (let n = 0; n < lines; n++) log.info({ n }, text);
  };
  const concurrency = limit && { limit, key: ({ key }) => key };
  return createTock({
    connectionString: url,
    ...(service ? { service } : {}),
    jobs: jobs?.map(name => defineJob({ name, run: (_, payload) => handler(payload) })) ?? [
      inserts
        ? defineJob(inserting(inserts, handler))
        : defineJob({
            name: 'noop',
            ...(concurrency ? { concurrency } : {}),
            ...(fair ? { fair } : {}),
            ...(rate ? { rate } : {}),
            ...(changes ? { changes } : {}),
            run: waitFor
              ? async (ctx, { n }) => handler((await ctx.waitFor(waitFor, { key: String(n) })).payload)
              : lines === 0
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

function inserting({ by, batch }, handler) {
  const insert = (db, values) => db.insertInto('public.inserted').values(values).execute();
  const work = async (ctx, values) => {
    if (by === 'db') await insert(ctx.db, values);
    else
      await ctx.transaction(async trx => {
        await insert(trx, values);
      });
  };
  if (batch === undefined)
    return {
      name: 'noop',
      run: async (ctx, { n }) => {
        await work(ctx, { n });
        handler();
      },
    };
  return {
    name: 'noop',
    batch: { size: batch },
    run: async (ctx, runs) => {
      await work(
        ctx,
        runs.map(({ payload: { n } }) => ({ n })),
      );
      for (const { payload } of runs) handler(payload);
    },
  };
}

const contestantOf = openAt => ({
  name: 'pg-tock',
  settings: { concurrency: 100 },
  install: async (url, jobs) => {
    const each = openAt(url, jobs);
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
      addGroup: async payloads =>
        await each.enqueueGroup(
          payloads.map(payload => ({ job: 'noop', payload })),
          { then: { job: 'noop', payload: {} } },
        ),
      emit: async (event, key, payload) => await each.emit(event, { key, payload }),
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
