// The parts of `npm run check`: what each tries, what it needs, and its commands, which are executed in order.
// In: the path of the Node that executes a part's tests. Out: commands. `vitest`: its tests are counted.

const vitest =
  (...args) =>
  node => [node, 'node_modules/vitest/vitest.mjs', 'run', ...args];
/** With TOCK_TEST_DATABASE_URL set to a fresh cluster. */
const on15 = command => node => ['scripts/with-debian-postgres.sh', ...command(node)];
const script =
  (file, ...args) =>
  node =>
    file.endsWith('.sh') ? [file, ...args] : [node, file, ...args];
const npm =
  (folder, ...args) =>
  () => ['npm', '--prefix', folder, '--silent', '--no-fund', '--no-audit', ...args];
const flags = values =>
  Object.entries(values).flatMap(([name, value]) => [value].flat().flatMap(each => [`--${name}`, `${each}`]));
const bench = values => script('bench/bench.mjs', '--node', 'own', '--dry', ...flags(values));

/** What differs on other versions: the SQL, from the statements to whole ticks, and Node's time zones. */
const ON_OTHER_VERSIONS = [
  'test/model/schedule',
  'test/store',
  'test/scenarios',
  'test/engine/retention',
  'test/cli/commands/prune.check.test.ts',
  'test/processes/tick.check.test.ts',
];
/** They look at their environment, which must name no database. */
const ON_THEIR_OWN_SERVER = [
  'test/processes/idle-tick.check.test.ts',
  'test/processes/isolate.check.test.ts',
];

export const PARTS = [
  {
    name: 'exhaustive',
    about: 'all tests but the faults, with all their rounds: real processes, browsers, short leases',
    vitest: true,
    run: [vitest('--project', 'engine', '--project', 'exhaustive')],
  },
  {
    name: 'chaos',
    about:
      'the faults: kills, a broken network, a wrong clock, fail-over, a pooler, brokers; the history of it all; silence after bursts',
    vitest: true,
    run: [vitest('--project', 'chaos')],
  },
  {
    name: 'suite',
    about: 'the reliability suite: 700 runs under kills, cuts and a restart',
    run: [
      script('scripts/chaos.mjs', ...flags({ runs: 700, kills: 8, stops: 4, restarts: 1, cuts: 8, seed: 1 })),
    ],
  },
  {
    name: 'ha',
    about: 'fail-over of three servers under Patroni',
    needs: ['patroni', 'etcd-server', 'python3-etcd', 'postgresql-15'],
    run: [script('scripts/ha.mjs', '--short')],
  },
  {
    name: 'cron',
    about: 'the line of the crontab, under Debian’s cron',
    needs: ['cron'],
    run: [script('scripts/try-cron.sh')],
  },
  {
    name: 'start',
    about: '`npm start` in fresh clones, after kill -9, and as another user',
    run: [script('scripts/try-start.sh')],
  },
  {
    name: 'migration',
    about: 'a crontab that is moved to Tock, through a change of the clock',
    needs: ['cron', 'faketime', 'postgresql-15'],
    run: [script('scripts/try-migration.mjs')],
  },
  {
    name: 'versions',
    about: 'statements, ticks and time zones on PostgreSQL 15 and Node 24',
    needs: ['postgresql-15'],
    vitest: true,
    node: 24,
    run: [
      on15(vitest('--project', 'engine', '--project', 'exhaustive', ...ON_OTHER_VERSIONS)),
      vitest('--project', 'exhaustive', ...ON_THEIR_OWN_SERVER),
    ],
  },
  {
    name: 'frameworks',
    about: 'the dashboard in Express, Fastify, Hono, Nest and Next',
    needs: ['postgresql-15'],
    run: [on15(script('scripts/try-frameworks.mjs'))],
  },
  {
    name: 'package',
    about: 'the package, as its users have it: ES modules, CommonJS, tsx, Nest, bundled, under cron',
    needs: ['postgresql-15', 'cron'],
    run: [on15(script('scripts/try-package.mjs'))],
  },
  { name: 'readme', about: 'what README and docs/ say, done', run: [script('scripts/try-readme.mjs')] },
  {
    name: 'serverless',
    about: 'a tick by HTTP, on platforms that kill it',
    needs: ['postgresql-15'],
    run: [on15(script('scripts/try-serverless.mjs'))],
  },
  {
    name: 'examples',
    about: 'the example projects, as their users have them',
    needs: ['postgresql-15'],
    run: [on15(script('scripts/try-examples.mjs'))],
  },
  {
    name: 'site',
    about: 'the documentation site: its links, and its pages in a browser',
    run: [npm('site', 'ci'), npm('site', 'run', 'build'), npm('site', 'run', 'check')],
  },
  {
    name: 'recipes',
    about: 'the recipes for other brokers, against the types of their clients',
    run: [
      npm('examples/consumers/recipes', 'ci', '--ignore-scripts'),
      script('scripts/try-relay-recipes.mjs'),
    ],
  },
  {
    name: 'benchmarks',
    about: 'that they run; no figure is kept',
    needs: ['bench packages'],
    run: [
      script('bench/schedules.mjs', '--only', 'next', '--rounds', '1'),
      bench({ only: ['relay'], who: 'tock', runs: 500, seconds: 1, rounds: 1 }),
      bench({ only: ['throughput'], who: 'tock', runs: 20_000, rounds: 1, concurrency: 24 }),
      bench({
        only: ['processes', 'spread', 'limits', 'materialize', 'urgent', 'notify'],
        who: 'tock',
        runs: 5000,
        rounds: 1,
        seconds: 1,
      }),
      bench({ only: ['soak'], minutes: 0.2 }),
    ],
  },
];
