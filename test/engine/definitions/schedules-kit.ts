// For tests of schedules at run time: a Tock whose clock stands, with jobs and one schedule in code.
// In: nothing. Out: it, opened before each test; the jobs; what became of a schedule.
import { beforeEach } from 'vitest';
import { z } from 'zod';
import { defineJob, type JobSchedule } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

export const mail = defineJob({
  name: 'mail',
  payload: z.object({ tenant: z.number() }),
  queue: 'mails',
  retry: { maxAttempts: 4 },
  run: (_ctx, { tenant }) => ({ tenant }),
});
export const plain = defineJob({ name: 'plain', run: () => null });
export const inCode = (schedule: JobSchedule) => defineJob({ name: 'in-code', schedule, run: () => null });
export const minutely = { name: 'tenant-7', job: mail, payload: { tenant: 7 }, cron: '* * * * *' } as const;

export function schedulesTest() {
  const test = openForEach(() => reuseTestTock([mail, plain, inCode({ cron: '0 * * * *' })]));
  beforeEach(async () => {
    await test.setClock('2026-03-01T12:00:30Z');
    await test.tock.register();
  });
  const rows = async (definition: string) =>
    (await test.tock.runs.list({ definition })).map(run => ({
      status: run.status,
      at: run.scheduledFor?.toISOString().slice(11, 16),
      count: run.occurrenceCount,
      reason: run.skipReason,
    }));
  const find = async (name: string) => (await test.tock.schedules.list({ name }))[0];
  return { test, rows, find };
}
