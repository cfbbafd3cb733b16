// Seconds to materialize many due definitions, and a tick whose thousand due ones are few among a million, or all.
// In: a server's URL. Out: seconds and ratios. Each measurement has a schema of its own, dropped at the end.
import pg from 'pg';
import { median, table } from './figures.mjs';

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'America/Sao_Paulo',
];

export async function measureMaterialize({ count, say, ...given }) {
  return await withTock({ ...given, schema: 'tock_bench_materialize' }, async ({ tock, sql }) => {
    await define(sql, 'tock_bench_materialize', count);
    await makeDue(sql, 'tock_bench_materialize', count, 1);
    const began = performance.now();
    // No run is in this queue: the tick materializes, and claims nothing.
    const { materialized } = await tock.tick({ budget: '1s', queues: ['nothing'] });
    const seconds = (performance.now() - began) / 1000;
    if (materialized.runs !== count) throw new Error(`${materialized.runs} runs in place of ${count}`);
    say(
      `materialize: ${count} due definitions in ${seconds.toFixed(2)} s, ${Math.round(count / seconds)} a second\n`,
    );
    return { count, seconds, perSecond: count / seconds };
  });
}

export async function measureTick({ defined, due, rounds, say, ...given }) {
  const sizes = { many: Math.max(defined, due), few: due };
  const open = (name, work) => withTock({ ...given, schema: `tock_bench_${name}` }, work);
  const times = { many: [], few: [] };
  await open('many', async many => {
    await open('few', async few => {
      const sides = { many, few };
      for (const [name, side] of Object.entries(sides)) {
        say(`defining ${sizes[name]} …`);
        await define(side.sql, `tock_bench_${name}`, sizes[name]);
      }
      for (let round = 0; round <= rounds; round++) {
        const order = round % 2 === 0 ? ['many', 'few'] : ['few', 'many'];
        for (const name of order) {
          const seconds = await tickOnce(sides[name], `tock_bench_${name}`, due, round + 1);
          if (round > 0) times[name].push(seconds);
        }
      }
    });
  });
  const result = Object.keys(sizes).map(name => ({
    defined: sizes[name],
    due,
    seconds: median(times[name]),
    rounds: times[name],
  }));
  const ratio = result[0].seconds / result[1].seconds;
  say(`a tick that materializes and executes ${due} due definitions, ${rounds} rounds in turn`);
  say(
    table(
      ['defined', 'due', 'ms'],
      result.map(each => [each.defined, each.due, (each.seconds * 1000).toFixed(0)]),
    ),
  );
  say(`ratio ${ratio.toFixed(2)}\n`);
  return { sizes: result, ratio };
}

async function tickOnce({ tock, sql }, schema, due, round) {
  await makeDue(sql, schema, due, round);
  const began = performance.now();
  const { materialized, executed } = await tock.tick({ budget: '50s' });
  const seconds = (performance.now() - began) / 1000;
  if (materialized.runs !== due || executed.succeeded !== due)
    throw new Error(`${materialized.runs} runs, ${executed.succeeded} succeeded, in place of ${due}`);
  return seconds;
}

async function withTock({ createTock, defineJob, url, schema }, work) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const sql = (text, values) => client.query(text, values);
  await sql(`drop schema if exists ${schema} cascade`);
  const noop = defineJob({ name: 'noop', run: () => null });
  const tock = createTock({ connectionString: url, schema, jobs: [noop], logger: false });
  try {
    await tock.migrate();
    await tock.register();
    return await work({ tock, sql });
  } finally {
    await tock.close();
    await sql(`drop schema if exists ${schema} cascade`);
    await client.end();
  }
}

/** Daily definitions in six zones, none of them due for a year. */
export async function define(sql, schema, count) {
  await sql(
    `insert into ${schema}.job_definitions (name, job, origin, cron, timezone, cursor, next_at)
     select 'bench-' || i, 'noop', 'runtime', '0 12 * * *', ($2::text[])[1 + i % cardinality($2::text[])],
       now() + interval '365 days', now() + interval '365 days' + i * interval '1 second'
     from generate_series(1, $1::int) as i`,
    [count, ZONES],
  );
  await sql(`vacuum analyze ${schema}.job_definitions`);
}

/** Makes some due: one occurrence each, all `round` minutes ago, which no earlier round had. */
export async function makeDue(sql, schema, count, round) {
  await sql(
    `update ${schema}.job_definitions d
     set cron = to_char(at.due at time zone d.timezone, 'FMMI FMHH24') || ' * * *', cursor = at.due - interval '1 hour', next_at = at.due
     from (select date_trunc('minute', now()) - ($2::int + 1) * interval '1 minute' as due) at
     where d.name in (select 'bench-' || i from generate_series(1, $1::int) as i)`,
    [count, round],
  );
  await sql(`vacuum analyze ${schema}.job_definitions`);
  await sql('checkpoint');
}
