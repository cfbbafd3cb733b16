// `pg-tock/testing`: a Tock with a database and a settable clock, for any test runner. See docs/testing.md.
export type { LogLine } from './testing/captured-logs.js';
export type { DrainOptions } from './testing/drain.js';
export type { ChangeContext } from './testing/instrumented-jobs.js';
export type { TestClock } from './testing/test-clock.js';
export {
  openTestTock,
  type RunOnceOptions,
  type TestTock,
  type TestTockOptions,
} from './testing/test-tock.js';
