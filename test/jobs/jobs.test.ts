import { describe, expect, it } from 'vitest';
import { jobs } from '../../jobs/index.js';
import { nextOccurrence } from '../../src/index.js';

describe('jobs', () => {
  it('have names of their own, and say what they do', () => {
    expect(new Set(jobs.map(job => job.name)).size).toBe(jobs.length);
    expect(jobs.filter(job => !job.description)).toEqual([]);
  });

  it('are due when their schedules say', () => {
    const saturday = new Date('2026-03-07T12:00:30Z');
    const due = jobs.flatMap(job =>
      job.schedule ? [[job.name, nextOccurrence(job.schedule, saturday)?.toISOString()]] : [],
    );
    expect(Object.fromEntries(due)).toEqual({
      'check-scheduler': '2026-03-07T12:01:00.000Z',
      'send-invoice-reminders': '2026-03-08T08:00:00.000Z',
      'weekly-run-report': '2026-03-09T07:00:00.000Z',
    });
  });
});
