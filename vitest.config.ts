// The test runner. One project for each kind of test, so that each starts only what it needs.
// In: test/**/*.test.ts. Out: `vitest run --project unit`; test/support/global-setup.ts brings the database server.
import { defineConfig } from 'vitest/config';
import { temporaryFolder } from './test/support/temporary-folder.js';

// Every test, and every process and server that it starts, keeps its files in memory where the machine has such a folder.
process.env['TMPDIR'] = temporaryFolder();

/**
 * No database, no processes. A project only where it is asked for by name: else one of processes that have loaded the same
 * sources anyway runs them.
 */
const UNIT = [
  'test/{model,import}/**/*.test.ts',
  'test/{architecture,docs,planted-faults,types,exported-types}.test.ts',
  'test/cli/flags/*.test.ts',
  'test/dashboard/{access,assets,cached,text}.test.ts',
];
/** The faults: `npm run test:chaos`. */
const CHAOS = ['test/chaos/**/*.test.ts', 'test/relay/{rabbitmq,jetstream,python,kills}.test.ts'];
/** What takes long, of rooms that have quicker tests too: `npm run test:exhaustive`, and with it `npm run check`. */
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
    maxWorkers: 2,
    // A hang, and not a machine that is slow.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // For a machine that is busy with others; what passed at the second attempt only is marked "retry x1".
    retry: Number(process.env['TOCK_TEST_RETRIES'] ?? 0),
    // `npm test` leaves out tests with this tag. `npm run test:exhaustive` and `npx vitest run FILE` execute them.
    tags: [{ name: 'check', description: 'Takes long, or depends on time or load: npm test leaves it out.' }],
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
      {
        extends: true,
        test: {
          name: 'exhaustive',
          include: EXHAUSTIVE,
          ...DATABASE,
        },
      },
      { extends: true, test: { name: 'chaos', include: CHAOS, ...DATABASE } },
    ],
  },
});
