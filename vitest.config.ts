// The test runner. In: test/**/*.test.ts. Out: the projects; test/support/global-setup.ts brings the database server.
//
//   engine      what `npm test` executes, less the tests that are tagged check; `unit` is the part without a database
//   exhaustive  the files *.check.test.ts, which `npm run check` executes with those tests
//   chaos       the faults: a part of `npm run check` too
import { defineConfig } from 'vitest/config';
import { temporaryFolder } from './scripts/support/temporary-folder.mjs';

// Every test, and every process and server that it starts, keeps its files in memory where the machine has such a folder.
process.env['TMPDIR'] = temporaryFolder();

/** No database. A project only where it is asked for: else processes that have loaded the same sources anyway execute them. */
const UNIT = [
  'test/{model,import}/**/*.test.ts',
  'test/{architecture,docs,gate,planted-faults,types,exported-types}.test.ts',
  'test/dashboard/{access,assets,cached,text}.test.ts',
];
const CHAOS = ['test/chaos/**/*.test.ts', 'test/relay/{rabbitmq,jetstream,python,kills}.test.ts'];
const EXHAUSTIVE = ['test/**/*.check.test.ts'];
const isAskedFor = (project: string) =>
  process.argv.some(each => each === project || each === `--project=${project}`);
const DATABASE = {
  globalSetup: ['./test/support/global-setup.ts'],
  // How often some tests try: see test/support/rounds.ts.
  env: isAskedFor('exhaustive') || isAskedFor('chaos') ? { TOCK_TEST_ROUNDS: 'many' } : {},
};

export default defineConfig({
  test: {
    pool: 'forks',
    // With four, all tests take as long together, and each of them twice as long.
    maxWorkers: 2,
    // A hang, and not a machine that is slow.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    tags: [{ name: 'check', description: 'Takes long, or depends on time, load or processes.' }],
    projects: [
      ...(isAskedFor('unit')
        ? [
            {
              extends: true as const,
              test: { name: 'unit', include: UNIT, exclude: EXHAUSTIVE, isolate: false },
            },
          ]
        : []),
      {
        extends: true,
        test: {
          name: 'engine',
          include: ['test/**/*.test.ts'],
          exclude: [...CHAOS, ...EXHAUSTIVE],
          isolate: false,
          ...DATABASE,
        },
      },
      { extends: true, test: { name: 'exhaustive', include: EXHAUSTIVE, exclude: CHAOS, ...DATABASE } },
      { extends: true, test: { name: 'chaos', include: CHAOS, ...DATABASE } },
    ],
  },
});
