// The testing kit, on the server of this test run.
// In: jobs, and where the clock stands. Out: a TestTock.
import { inject } from 'vitest';
import type { SchedulerView } from '../../src/index.js';
import type { ChangeContext } from '../../src/testing.js';
import { openTestTock, type TestTock, type TestTockOptions } from '../../src/testing.js';

export function openJobKit(options: TestTockOptions = {}): Promise<TestTock> {
  return openTestTock({ connectionString: inject('adminUrl'), ...options });
}

/** Other figures and reports in the place of the scheduler's own. */
export const withScheduler =
  (view: Partial<SchedulerView>): ChangeContext =>
  ctx => ({ scheduler: { ...ctx.scheduler, ...view } });
