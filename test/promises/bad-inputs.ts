// What somebody may hand over by mistake or on purpose, and the doors through which: code, SQL, the command line.
// In: nothing. Out: a list that bad-inputs.check.test.ts goes through; bad-inputs.golden.txt has the answer of each.
import { tickHandler } from '../../src/http.js';
import { createTock, defineHttpJob, defineJob, type Tock } from '../../src/index.js';

/** At the doors that are left out it cannot be said: a Map in SQL, a NUL in an argument. */
export interface BadInput {
  readonly input: string;
  readonly code?: (tock: Tock) => unknown;
  /** A statement and its parameters. */
  readonly sql?: readonly [text: string, ...values: unknown[]];
  readonly cli?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const run = () => null;
const ENQUEUE = 'select tock.enqueue($1)';
const WITH_PAYLOAD = `select tock.enqueue('plain', $1::jsonb)`;
const WITH_KEY = `select tock.enqueue('plain', idempotency_key => $1)`;
const AT = 'select tock.enqueue($2, run_at => $1::timestamptz)';
const WITH_ATTEMPTS = `select tock.enqueue('plain', max_attempts => $1::integer)`;
const IN_QUEUE = `select tock.enqueue('plain', queue => $1)`;

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
};
const ring: Record<string, unknown> = {};
ring['self'] = ring;

const schemaName = (input: string, name: unknown, env?: string): BadInput => ({
  input: `schema name: ${input}`,
  code: () => createTock({ connectionString: 'postgres:///x', schema: name as string }),
  ...(env === undefined ? {} : { cli: ['status'], env: { TOCK_SCHEMA: env } }),
});
const jobName = (input: string, name: string): BadInput => ({
  input: `job name: ${input}`,
  code: () => defineJob({ name, run }),
  sql: [ENQUEUE, name],
  cli: ['run', name],
});
const payload = (input: string, value: unknown, json?: string): BadInput => ({
  input: `payload: ${input}`,
  code: tock => tock.enqueue('plain', value),
  ...(json === undefined ? {} : { sql: [WITH_PAYLOAD, json], cli: ['run', 'plain', '--payload', json] }),
});
const key = (input: string, value: unknown, doors: 'all' | 'sql' | 'code'): BadInput => ({
  input: `key: ${input}`,
  code: tock => tock.enqueue('plain', {}, { key: value as string }),
  ...(doors === 'code' ? {} : { sql: [WITH_KEY, value] }),
  ...(doors === 'all' ? { cli: ['run', 'plain', '--key', String(value)] } : {}),
});
const time = (input: string, value: unknown, text?: string): BadInput => ({
  input: `time of a run: ${input}`,
  code: tock => tock.enqueue('plain', {}, { runAt: value as Date }),
  ...(text === undefined ? {} : { sql: [AT, text, 'plain'], cli: ['run', 'plain', '--at', text] }),
});
const delay = (input: string, value: unknown): BadInput => ({
  input: `duration: ${input}`,
  code: tock => tock.enqueue('plain', {}, { delay: value as string }),
  cli: ['run', 'plain', `--delay=${String(value)}`],
});
const attempts = (input: string, value: number): BadInput => ({
  input: `maximum of attempts: ${input}`,
  code: tock => tock.enqueue('plain', {}, { maxAttempts: value }),
  sql: [WITH_ATTEMPTS, String(value)],
  cli: ['run', 'plain', `--max-attempts=${value}`],
});
const queue = (input: string, name: string): BadInput => ({
  input: `queue name: ${input}`,
  code: tock => tock.enqueue('plain', {}, { queue: name }),
  sql: [IN_QUEUE, name],
  cli: ['run', 'plain', '--queue', name],
});
const zone = (name: string): BadInput => ({
  input: `time zone: \`${name}\``,
  code: () => defineJob({ name: 'a', schedule: { cron: '0 0 * * *', timezone: name }, run }),
  cli: ['next', '--cron', '0 0 * * *', '--timezone', name],
});
const option = (input: string, code: NonNullable<BadInput['code']>, cli?: readonly string[]): BadInput => ({
  input: `unknown option: ${input}`,
  code,
  ...(cli ? { cli } : {}),
});
const cron = (input: string, text: unknown): BadInput => ({
  input: `cron: ${input}`,
  code: () => defineJob({ name: 'a', schedule: { cron: text as string }, run }),
  ...(typeof text === 'string' ? { cli: ['next', '--cron', text] } : {}),
});

const request = (input: string, options: object, cli: readonly string[] = []): BadInput => ({
  input: `request: ${input}`,
  code: () => defineHttpJob({ name: 'a', ...options } as never),
  cli: ['schedule', 'add', 'r', '--every', '5m', '--url', (options as { url: string }).url, ...cli],
});
const webhook = (input: string, options: object): BadInput => ({
  input: `webhook of changes: ${input}`,
  code: () => {
    const given = { url: 'https://example.com/', secret: { env: 'HOOK_SECRET' }, ...options };
    defineJob({ name: 'a', changes: { webhook: given }, run });
  },
});
const secret = (input: string, value: unknown): BadInput => ({
  input: `secret of ticks by HTTP: ${input}`,
  code: tock => tickHandler(tock, { secret: value as string }),
});

/** Each is refused at each of its doors, and nothing is written. */
export const REFUSED: readonly BadInput[] = [
  schemaName('`a"; drop schema public;--`', 'a"; drop schema public;--', 'a"; drop schema public;--'),
  schemaName('`pg_catalog`', 'pg_catalog', 'pg_catalog'),
  schemaName('`public`', 'public', 'public'),
  schemaName('upper case', 'Tock', 'Tock'),
  schemaName('64 bytes', 'a'.repeat(64), 'a'.repeat(64)),
  schemaName('empty', ''),
  schemaName('with NUL', 'a\0b'),
  schemaName('null', null),

  jobName('`../../etc/passwd`', '../../etc/passwd'),
  jobName('`__proto__`', '__proto__'),
  jobName('`constructor`', 'constructor'),
  jobName('`file:///x.mjs`', 'file:///x.mjs'),
  jobName('empty', ''),
  jobName('of 201 bytes', 'a'.repeat(201)),
  jobName('with a space', 'two words'),
  jobName('with a new line', 'plain\n'),

  payload('NUL in text', { text: 'a\0b' }, '{"text":"a\\u0000b"}'),
  payload('a lone surrogate', { text: '\ud800' }, '{"text":"\\ud800"}'),
  payload('BigInt', { n: 1n }),
  payload('an object that holds itself', ring),
  payload('NaN', { n: Number.NaN }, '{"n":NaN}'),
  payload('Infinity', { n: Number.POSITIVE_INFINITY }, '{"n":Infinity}'),
  payload('a Map', new Map([[1, 2]])),
  payload('a function', { call: run }),
  payload('an invalid Date', { at: new Date(Number.NaN) }),
  payload('201 levels deep', nested(201), '['.repeat(202) + ']'.repeat(202)),
  payload('20,000 levels deep', nested(20_000), '['.repeat(20_000) + ']'.repeat(20_000)),
  payload('a whole number over 2^53', { n: 2 ** 53 + 2 }, '{"n":9007199254740994}'),
  {
    ...payload('over 1 MiB', 'x'.repeat(1024 * 1024)),
    sql: [WITH_PAYLOAD, JSON.stringify('x'.repeat(1024 * 1024))],
  },
  { input: 'payload: no JSON', sql: [WITH_PAYLOAD, '{a:1}'], cli: ['run', 'plain', '--payload', '{a:1}'] },
  {
    input: 'payload: not what the job’s schema takes',
    code: tock => tock.enqueue('typed', { n: 'seven' }),
    cli: ['run', 'typed', '--payload', '{"n":"seven"}'],
  },

  key('empty', '', 'all'),
  key('of 513 bytes', 'k'.repeat(513), 'all'),
  key('with NUL', 'a\0b', 'sql'),
  key('with a lone surrogate', '\ud800', 'code'),
  key('a number', 7, 'code'),

  time('an invalid Date', new Date(Number.NaN)),
  time('the year 275760', new Date(8.64e15), '275760-09-13T00:00:00Z'),
  time('`infinity`', 'infinity', 'infinity'),
  time('`tomorrow at noon`', 'tomorrow at noon', 'tomorrow at noon'),
  {
    input: 'time of a run: and a delay',
    code: tock => tock.enqueue('plain', {}, { runAt: new Date(0), delay: '5m' }),
    cli: ['run', 'plain', '--at', '2026-01-01T00:00:00Z', '--delay', '5m'],
  },
  delay('a negative delay', '-5m'),
  delay('a delay of NaN', Number.NaN),
  delay('a delay of 10^12 days', '1000000000000d'),
  delay('a delay of `soon`', 'soon'),

  attempts('0', 0),
  attempts('-1', -1),
  attempts('1.5', 1.5),
  attempts('2^31', 2 ** 31),

  queue('empty', ''),
  queue('of 9 kB', 'q'.repeat(9000)),
  queue('with control characters', 'a\u0007\u001b[31m'),
  {
    input: 'priority: 1.5',
    code: tock => tock.enqueue('plain', {}, { priority: 1.5 }),
    sql: [`select tock.enqueue('plain', priority => $1::integer)`, '1.5'],
    cli: ['run', 'plain', '--priority=1.5'],
  },

  {
    input: 'lease: under two heartbeats',
    code: () => createTock({ connectionString: 'postgres:///x', lease: '20s', heartbeat: '15s' }),
    cli: ['tick'],
    env: { TOCK_LEASE: '20s' },
  },
  {
    input: 'duration: a lease of `long`',
    code: () => createTock({ connectionString: 'postgres:///x', lease: 'long' }),
    cli: ['tick'],
    env: { TOCK_LEASE: 'long' },
  },
  {
    input: 'maxPayloadBytes: over 16 MiB',
    code: () => createTock({ connectionString: 'postgres:///x', maxPayloadBytes: 16 * 1024 * 1024 + 1 }),
  },
  {
    input: 'concurrency: 0',
    code: tock => tock.tick({ concurrency: 0 }),
    cli: ['tick', '--concurrency', '0'],
  },
  {
    input: 'duration: a budget of `ever`',
    code: tock => tock.tick({ budget: 'ever' }),
    cli: ['tick', '--budget', 'ever'],
  },
  request('a URL with a password', { url: 'https://me:hunter2@example.com/' }),
  request('a URL of a file', { url: 'file:///etc/passwd' }),
  request('a URL without its scheme', { url: 'example.com/hook' }),
  request('a status that is none', { url: 'https://example.com/', success: [0] }, ['--success', '0']),
  request('the header Host', { url: 'https://example.com/', headers: { host: 'a' } }, [
    '--header',
    'host: a',
  ]),
  request('a header of two lines', { url: 'https://example.com/', headers: { a: 'b\r\nc: d' } }, [
    '--header',
    'a: b\r\nc: d',
  ]),
  {
    input: 'request: a secret of the worker that is none of a schedule’s',
    code: tock =>
      tock.schedules.upsert({
        name: 'r',
        job: 'tock:http',
        every: '5m',
        payload: { url: 'https://example.com/', headers: { a: { env: 'DATABASE_URL' } } },
      } as never),
    cli: [
      'schedule',
      'add',
      'r',
      '--every',
      '5m',
      '--url',
      'https://example.com/',
      '--header',
      'a: $DATABASE_URL',
    ],
  },
  webhook('none', { url: undefined }),
  webhook('a URL with a password', { url: 'https://me:hunter2@example.com/' }),
  webhook('a secret as text', { secret: 'hunter2' }),
  webhook('a kind that is none', { kinds: ['done'] }),
  webhook('an hour for each request', { timeout: '1h' }),
  secret('none', undefined),
  secret('short', 'hunter2'),
  secret('with a line break', 'hunter2-and-a-few-more\n'),
  {
    input: 'client: null',
    code: tock => tock.enqueue('plain', {}, { client: null as never }),
  },
  {
    input: 'trigger: `magic`',
    code: tock => tock.enqueue('plain', {}, { trigger: 'magic' as never }),
  },
  {
    input: 'database URL: of MySQL',
    code: () => createTock({ connectionString: 'mysql://root:hunter2@127.0.0.1/app' }),
    cli: ['status'],
    env: { DATABASE_URL: 'mysql://root:hunter2@127.0.0.1/app' },
  },

  zone('Mars/Phobos'),
  zone('UTC+3'),
  zone('local'),
  zone('Asia/Mumbai'),

  cron('empty', ''),
  cron('null', null),
  cron('four fields', '* * * *'),
  cron('seven fields', '* * * * * * *'),
  cron('`@reboot`', '@reboot'),
  cron('minute 60', '60 * * * *'),
  cron('`*/0`', '*/0 * * * *'),
  cron('`1#1.5`', '0 0 * * 1#1.5'),
  cron('a sign', '+5 * * * *'),
  cron('a fraction', '1.5 * * * *'),
  cron('a date that never comes', '0 0 30 2 *'),
  cron('a time zone in front', 'CRON_TZ=Europe/Berlin 0 2 * * *'),
  cron('a time zone behind', '0 2 * * * Europe/Berlin'),
  cron('a line of a crontab', '0 2 * * * /usr/bin/backup --all'),
  cron('a range that runs backwards', '0 23-3/2 * * *'),
  cron('`L-31`', '0 0 L-31 * *'),
  cron('`~`', '0~30 2 * * *'),
  {
    input: 'every: null',
    code: () => defineJob({ name: 'a', schedule: { every: null as never }, run }),
  },
  {
    input: 'exclude: all that there is',
    code: tock =>
      tock.schedules.upsert({ name: 'a', job: 'plain', every: '2m', exclude: [{ cron: '*/2 * * * *' }] }),
    cli: ['schedule', 'add', 'a', '--job', 'plain', '--every', '2m', '--exclude', '*/2 * * * *'],
  },
  {
    input: 'shift: of an interval without local times',
    code: tock => tock.schedules.upsert({ name: 'a', job: 'plain', every: '1d', shift: 'next' }),
    cli: ['schedule', 'add', 'a', '--job', 'plain', '--every', '1d', '--shift', 'next'],
  },
  {
    input: 'business days: counted, but not said which',
    code: tock => tock.schedules.upsert({ name: 'a', job: 'plain', cron: '0 9 3B * *' }),
    cli: ['schedule', 'add', 'a', '--job', 'plain', '--cron', '0 9 3B * *'],
  },
  {
    input: 'business days: of two calendars',
    code: tock =>
      tock.schedules.upsert({
        name: 'a',
        job: 'plain',
        cron: '0 9 * * *',
        businessDays: { calendar: 'de,at' },
      }),
    cli: ['schedule', 'add', 'a', '--job', 'plain', '--cron', '0 9 * * *', '--business-days', 'de,at'],
  },
  {
    input: 'anchor: with an offset',
    code: tock =>
      tock.schedules.upsert({ name: 'a', job: 'plain', every: '2w', anchor: '2027-01-04T09:00Z' }),
    cli: ['schedule', 'add', 'a', '--job', 'plain', '--every', '2w', '--anchor', '2027-01-04T09:00Z'],
  },
  cron('1025 characters', `${'0,'.repeat(508)}0 * * * *`),

  option('`retries` of a job', () =>
    defineJob({ name: 'a', retries: 5, run } as { name: string; run: () => null }),
  ),
  option('`tz` of a schedule', () =>
    defineJob({ name: 'a', schedule: { cron: '0 0 * * *', tz: 'UTC' } as { cron: string }, run }),
  ),
  option('`maxAtempts` of `retry`', () =>
    defineJob({ name: 'a', retry: { maxAtempts: 3 } as { maxAttempts?: number }, run }),
  ),
  option(
    '`cathcup` of a schedule',
    tock => {
      const schedule = { name: 'a', job: 'plain', cron: '0 0 * * *', cathcup: 'all' };
      return tock.schedules.upsert(schedule);
    },
    ['schedule', 'add', 'a', '--job', 'plain', '--cron', '0 0 * * *', '--cathcup', 'all'],
  ),
  option(
    '`dealy` of a run',
    tock => {
      const options = { dealy: '5m' };
      return tock.enqueue('plain', {}, options as object);
    },
    ['run', 'plain', '--dealy', '5m'],
  ),
  option('`hartbeat` of createTock', () => {
    const options = { connectionString: 'postgres:///x', hartbeat: '5s' };
    return createTock(options);
  }),
  option('`chanels` of alerts', () =>
    createTock({ connectionString: 'postgres:///x', alerts: { chanels: [] } as object }),
  ),
  {
    input: 'alerts: a rule for `ded`',
    code: () =>
      createTock({ connectionString: 'postgres:///x', alerts: { rules: [{ when: 'ded' as 'dead' }] } }),
  },
  {
    input: 'alerts: a signing secret in code',
    code: () =>
      createTock({
        connectionString: 'postgres:///x',
        alerts: { channels: [{ webhook: 'https://example.com', secret: 'whsec_abc' as never }] },
      }),
  },
  option('`expect.withn` of a job', () =>
    defineJob({ name: 'a', schedule: { cron: '0 * * * *' }, expect: { withn: '5m' } as object, run }),
  ),
  {
    input: 'mute of alerts: `until` in the past',
    code: tock => tock.alerts.mute('plain', { until: '2000-01-01T00:00:00Z' }),
    cli: ['alerts', 'mute', 'plain', '--until', '2000-01-01T00:00:00Z'],
  },
  {
    input: 'unknown name: in a mute of alerts',
    code: tock => tock.alerts.mute('plian', { until: '2100-01-01T00:00:00Z' }),
    cli: ['alerts', 'mute', 'plian', '--until', '2100-01-01T00:00:00Z'],
  },
  {
    input: 'unknown name: of a job',
    code: tock => tock.enqueue('plian'),
    cli: ['run', 'plian'],
  },
  {
    input: 'unknown name: of a definition',
    code: tock => tock.schedules.pause('plian'),
    cli: ['pause', 'plian'],
  },
  {
    input: 'unknown name: of a job whose runs are asked for',
    cli: ['runs', '--job', 'plian'],
  },
];
