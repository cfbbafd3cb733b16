// The test runner: real PostgreSQL, so few workers and generous timeouts.
// In: test/**/*.test.ts. Out: `vitest run`; test/support/global-setup.ts brings the database server.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['./test/support/global-setup.ts'],
    pool: 'forks',
    fileParallelism: true,
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
