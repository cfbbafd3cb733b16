// The golden cases: what each way of mapping must give around gaps and overlaps, worked out by hand.
// Times are UTC, to the minute. The window is [from, to).

/** One expression in one zone and window, with the instants under each value of `dst`. */
export interface GoldenCase {
  readonly timezone: string;
  readonly cron: string;
  readonly from: string;
  readonly to: string;
  readonly once: readonly string[];
  readonly skip: readonly string[];
  readonly literal: readonly string[];
}

export const GOLDEN: readonly GoldenCase[] = [
  {
    timezone: 'America/New_York',
    cron: '30 2 * * *',
    from: '2026-03-08T00:00Z',
    to: '2026-03-10T00:00Z',
    once: ['2026-03-08T07:30Z', '2026-03-09T06:30Z'],
    skip: ['2026-03-09T06:30Z'],
    literal: ['2026-03-09T06:30Z'],
  },
  {
    timezone: 'America/New_York',
    cron: '*/15 2 * * *',
    from: '2026-03-08T00:00Z',
    to: '2026-03-09T00:00Z',
    once: ['2026-03-08T07:00Z', '2026-03-08T07:15Z', '2026-03-08T07:30Z', '2026-03-08T07:45Z'],
    skip: [],
    literal: [],
  },
  {
    timezone: 'America/New_York',
    cron: '30 2,3 * * *',
    from: '2026-03-08T00:00Z',
    to: '2026-03-09T00:00Z',
    once: ['2026-03-08T07:30Z'],
    skip: ['2026-03-08T07:30Z'],
    literal: ['2026-03-08T07:30Z'],
  },
  {
    timezone: 'America/New_York',
    cron: '0 */2 * * *',
    from: '2026-03-08T04:00Z',
    to: '2026-03-08T11:00Z',
    once: ['2026-03-08T05:00Z', '2026-03-08T07:00Z', '2026-03-08T08:00Z', '2026-03-08T10:00Z'],
    skip: ['2026-03-08T05:00Z', '2026-03-08T08:00Z', '2026-03-08T10:00Z'],
    literal: ['2026-03-08T05:00Z', '2026-03-08T08:00Z', '2026-03-08T10:00Z'],
  },
  {
    timezone: 'America/New_York',
    cron: '30 1 * * *',
    from: '2026-11-01T04:00Z',
    to: '2026-11-02T07:00Z',
    once: ['2026-11-01T05:30Z', '2026-11-02T06:30Z'],
    skip: ['2026-11-01T05:30Z', '2026-11-02T06:30Z'],
    literal: ['2026-11-01T05:30Z', '2026-11-01T06:30Z', '2026-11-02T06:30Z'],
  },
  {
    timezone: 'America/New_York',
    cron: '*/30 1 * * *',
    from: '2026-11-01T04:00Z',
    to: '2026-11-02T05:00Z',
    once: ['2026-11-01T05:00Z', '2026-11-01T05:30Z'],
    skip: ['2026-11-01T05:00Z', '2026-11-01T05:30Z'],
    literal: ['2026-11-01T05:00Z', '2026-11-01T05:30Z', '2026-11-01T06:00Z', '2026-11-01T06:30Z'],
  },
  {
    timezone: 'America/New_York',
    cron: '*/30 * * * *',
    from: '2026-11-01T05:00Z',
    to: '2026-11-01T07:30Z',
    once: [
      '2026-11-01T05:00Z',
      '2026-11-01T05:30Z',
      '2026-11-01T06:00Z',
      '2026-11-01T06:30Z',
      '2026-11-01T07:00Z',
    ],
    skip: [
      '2026-11-01T05:00Z',
      '2026-11-01T05:30Z',
      '2026-11-01T06:00Z',
      '2026-11-01T06:30Z',
      '2026-11-01T07:00Z',
    ],
    literal: [
      '2026-11-01T05:00Z',
      '2026-11-01T05:30Z',
      '2026-11-01T06:00Z',
      '2026-11-01T06:30Z',
      '2026-11-01T07:00Z',
    ],
  },
  {
    timezone: 'America/New_York',
    cron: '0 1-23 * * *',
    from: '2026-11-01T04:00Z',
    to: '2026-11-01T08:30Z',
    once: ['2026-11-01T05:00Z', '2026-11-01T07:00Z', '2026-11-01T08:00Z'],
    skip: ['2026-11-01T05:00Z', '2026-11-01T07:00Z', '2026-11-01T08:00Z'],
    literal: ['2026-11-01T05:00Z', '2026-11-01T06:00Z', '2026-11-01T07:00Z', '2026-11-01T08:00Z'],
  },
  {
    timezone: 'Europe/London',
    cron: '30 1 * * *',
    from: '2026-03-29T00:00Z',
    to: '2026-03-30T02:00Z',
    once: ['2026-03-29T01:30Z', '2026-03-30T00:30Z'],
    skip: ['2026-03-30T00:30Z'],
    literal: ['2026-03-30T00:30Z'],
  },
  {
    timezone: 'Europe/London',
    cron: '30 1 * * *',
    from: '2026-10-25T00:00Z',
    to: '2026-10-26T02:00Z',
    once: ['2026-10-25T00:30Z', '2026-10-26T01:30Z'],
    skip: ['2026-10-25T00:30Z', '2026-10-26T01:30Z'],
    literal: ['2026-10-25T00:30Z', '2026-10-25T01:30Z', '2026-10-26T01:30Z'],
  },
  {
    timezone: 'Australia/Lord_Howe',
    cron: '15 2 * * *',
    from: '2026-10-03T12:00Z',
    to: '2026-10-04T16:00Z',
    once: ['2026-10-03T15:45Z', '2026-10-04T15:15Z'],
    skip: ['2026-10-04T15:15Z'],
    literal: ['2026-10-04T15:15Z'],
  },
  {
    timezone: 'Pacific/Apia',
    cron: '0 12 30 12 *',
    from: '2011-12-29T00:00Z',
    to: '2012-01-01T12:00Z',
    once: ['2011-12-30T22:00Z'],
    skip: [],
    literal: [],
  },
  {
    timezone: 'America/Havana',
    cron: '30 0 * * *',
    from: '2026-10-31T12:00Z',
    to: '2026-11-02T07:00Z',
    once: ['2026-11-01T04:30Z', '2026-11-02T05:30Z'],
    skip: ['2026-11-01T04:30Z', '2026-11-02T05:30Z'],
    literal: ['2026-11-01T04:30Z', '2026-11-01T05:30Z', '2026-11-02T05:30Z'],
  },
  {
    timezone: 'Antarctica/Troll',
    cron: '30 2 * * *',
    from: '2026-10-24T12:00Z',
    to: '2026-10-26T12:00Z',
    once: ['2026-10-25T00:30Z', '2026-10-26T02:30Z'],
    skip: ['2026-10-25T00:30Z', '2026-10-26T02:30Z'],
    literal: ['2026-10-25T00:30Z', '2026-10-25T02:30Z', '2026-10-26T02:30Z'],
  },
  {
    timezone: 'Asia/Kolkata',
    cron: '0 0 * * *',
    from: '2026-03-08T00:00Z',
    to: '2026-03-10T00:00Z',
    once: ['2026-03-08T18:30Z', '2026-03-09T18:30Z'],
    skip: ['2026-03-08T18:30Z', '2026-03-09T18:30Z'],
    literal: ['2026-03-08T18:30Z', '2026-03-09T18:30Z'],
  },
  {
    // Sunday 15 March; the day after it lies in summer time.
    timezone: 'America/New_York',
    cron: '30 2 8W,15W 3 *',
    from: '2026-03-01T00:00Z',
    to: '2026-04-01T00:00Z',
    once: ['2026-03-09T06:30Z', '2026-03-16T06:30Z'],
    skip: ['2026-03-09T06:30Z', '2026-03-16T06:30Z'],
    literal: ['2026-03-09T06:30Z', '2026-03-16T06:30Z'],
  },
  {
    // L-2 is 29 March, the day of the gap; the last weekday is Tuesday the 31st.
    timezone: 'Europe/Berlin',
    cron: '30 2 L-2,LW 3 *',
    from: '2026-03-01T00:00Z',
    to: '2026-04-01T00:00Z',
    once: ['2026-03-29T01:30Z', '2026-03-31T00:30Z'],
    skip: ['2026-03-31T00:30Z'],
    literal: ['2026-03-31T00:30Z'],
  },
  {
    // 1 August 2026 is a Saturday: the Monday after it, since W stays in the month. October ends on a Saturday.
    timezone: 'Europe/Berlin',
    cron: '0 9 1W,LW 8,10 *',
    from: '2026-07-01T00:00Z',
    to: '2026-11-01T00:00Z',
    once: ['2026-08-03T07:00Z', '2026-08-31T07:00Z', '2026-10-01T07:00Z', '2026-10-30T08:00Z'],
    skip: ['2026-08-03T07:00Z', '2026-08-31T07:00Z', '2026-10-01T07:00Z', '2026-10-30T08:00Z'],
    literal: ['2026-08-03T07:00Z', '2026-08-31T07:00Z', '2026-10-01T07:00Z', '2026-10-30T08:00Z'],
  },
];
