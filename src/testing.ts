// The front door of the testing kit, `pg-tock/testing`: a Tock on a database of its own, with a clock that
// the test sets. For any test runner. In: jobs. Out: a TestTock; docs/testing.md shows it at work.
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
