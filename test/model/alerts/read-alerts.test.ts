// The option `alerts`: its defaults, and what is refused, with the nearest name.
import { describe, expect, it } from 'vitest';
import { createTock, defineJob, TockError } from '../../../src/index.js';
import type { AlertOptions } from '../../../src/model/alerts/options.js';
import { readAlerts } from '../../../src/model/alerts/read-alerts.js';

const channel = { slack: 'https://hooks.example.com/x' };
const refusal = (options: unknown): { code: string; message: string } => {
  try {
    readAlerts(options as AlertOptions);
  } catch (error) {
    if (error instanceof TockError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('it was not refused');
};

describe('readAlerts', () => {
  it('has a rule of each kind unless rules are given', () => {
    const { rules, channels, heartbeat } = readAlerts({ channels: [channel] });
    expect(
      rules.map(({ name, times, longerThanMs, remindMs }) => [name, times, longerThanMs, remindMs]),
    ).toEqual([
      ['failing', 3, 900_000, 86_400_000],
      ['dead', 3, 900_000, 86_400_000],
      ['late', 3, 900_000, 86_400_000],
      ['running-long', 3, 900_000, 86_400_000],
      ['waiting', 3, 900_000, 86_400_000],
      ['silent', 3, 600_000, 86_400_000],
      ['broken', 3, 900_000, 86_400_000],
    ]);
    expect(rules.every(rule => rule.channels.join() === 'slack' && rule.only === null)).toBe(true);
    expect([...channels.keys()]).toEqual(['slack']);
    expect(heartbeat).toBeNull();
  });

  it('has no rules for a heartbeat alone', () => {
    expect(readAlerts({ heartbeat: { url: 'https://hc.example.com/1' } })).toMatchObject({
      rules: [],
      heartbeat: { url: 'https://hc.example.com/1', failUrl: null, timeoutMs: 5000 },
    });
  });

  it('reads what is given', () => {
    const { rules } = readAlerts({
      channels: [channel, { name: 'page', command: ['/bin/page'] }],
      rules: [
        {
          when: 'failing',
          name: 'often',
          times: 5,
          channels: ['page'],
          definitions: ['a', 'b'],
          remind: false,
        },
        { when: 'waiting', longerThan: '2m', queues: ['reports'] },
      ],
    });
    expect(rules).toEqual([
      {
        name: 'often',
        when: 'failing',
        times: 5,
        longerThanMs: 900_000,
        only: new Set(['a', 'b']),
        channels: ['page'],
        remindMs: null,
      },
      {
        name: 'waiting',
        when: 'waiting',
        times: 3,
        longerThanMs: 120_000,
        only: new Set(['reports']),
        channels: ['slack', 'page'],
        remindMs: 86_400_000,
      },
    ]);
  });

  it.each<[unknown, RegExp]>([
    [null, /alerts is null; write an object/],
    [{ chanels: [] }, /alerts has no option "chanels"; did you mean "channels"\?/],
    [{ channels: {} }, /alerts\.channels is an object; write a list/],
    [{ channels: [{}] }, /channel 0 of alerts has none of webhook, slack, mail, command/],
    [{ channels: [null] }, /channel 0 of alerts has none of/],
    [{ channels: [{ webhok: 'https://x' }] }, /did you mean webhook\?/],
    [{ channels: [{ ...channel, secrt: 1 }] }, /channel 0 of alerts \(slack\) has no option "secrt"/],
    [{ channels: [channel, channel] }, /two channels of alerts are named "slack"/],
    [{ channels: [{ ...channel, name: 'two words' }] }, /cannot be the name of a channel/],
    [{ channels: [{ ...channel, timeout: '5m' }] }, /timeout "5m" is not between 1ms and 60s/],
    [{ channels: [{ slack: '' }] }, /slack must be a text, .* and is empty/],
    [{ channels: [{ slack: { env: 'A', file: 'b' } }] }, /slack must be a text, \{ env: 'NAME' \} or/],
    [{ channels: [{ slack: { envv: 'A' } }] }, /has no option "envv"; did you mean "env"/],
    [{ channels: [{ webhook: 'https://x', secret: 'whsec_abc' }] }, /secret must not stand in code/],
    [{ channels: [{ webhook: 'https://x' }] }, /secret must be a text/],
    [{ channels: [{ mail: 'nobody', from: 'a@b', smtp: 's' }] }, /mail must be an address/],
    [{ channels: [{ mail: 'a@b\r\nBcc: c@d', from: 'a@b', smtp: 's' }] }, /mail must be an address/],
    [{ channels: [{ mail: 'a@b', from: 'me', smtp: 's' }] }, /from must be an address/],
    [{ channels: [{ command: 'page --now' }] }, /command must be a list of texts/],
    [{ channels: [{ command: ['page'], shell: true }] }, /has no option "shell"/],
    [{ rules: [{ when: 'ded' }] }, /when "ded" is no condition; did you mean dead\?/],
    [{ rules: [{ when: 'toString' }] }, /is no condition; write one of failing, dead, late/],
    [{ rules: [{}] }, /when undefined is no condition/],
    [{ rules: [{ when: 'late', times: 3 }] }, /rule 0 of alerts \(late\) has no option "times"/],
    [{ rules: [{ when: 'failing', times: 0 }] }, /times 0 is not a whole number/],
    [{ rules: [{ when: 'silent', longerThan: '10 parsecs' }] }, /longerThan "10 parsecs" is not a duration/],
    [{ rules: [{ when: 'silent', longerThan: 5 }] }, /longerThan 5 is less than 1s/],
    [{ rules: [{ when: 'dead' }, { when: 'dead' }] }, /two rules of alerts are named "dead"/],
    [{ rules: [{ when: 'dead', definitions: 'mail' }] }, /definitions and queues are lists of names/],
    [
      { channels: [channel], rules: [{ when: 'dead', channels: ['slak'] }] },
      /the channel "slak".*did you mean slack\?/,
    ],
    [{ heartbeat: { url: 'ping' } }, /heartbeat\.url is not a URL/],
    [
      { heartbeat: { url: 'https://x', fail: true } },
      /heartbeat has no option "fail"; did you mean "failUrl"/,
    ],
    [{ heartbeat: { url: 'https://x', timeout: '1h' } }, /timeout "1h" is not between/],
  ])('refuses %j', (options, message) => {
    expect(refusal(options)).toEqual({
      code: expect.stringMatching(/^TOCK_BAD_(?:OPTION|DURATION)$/),
      message: expect.stringMatching(message),
    });
  });

  it('is what createTock refuses too', () => {
    expect(() =>
      createTock({ connectionString: 'postgres://h/d', alerts: { chanels: [] } as object }),
    ).toThrow(/alerts has no option "chanels"/);
  });
});

describe('expect', () => {
  const job = (expectation: object, schedule?: object) => () =>
    defineJob({ name: 'a', run: () => null, expect: expectation, ...(schedule && { schedule }) });

  it.each<[string, () => unknown, RegExp]>([
    ['another name', job({ withn: '1m' }), /expect has no option "withn"; did you mean "within"/],
    ['no schedule', job({ within: '1m' }), /expect\.within needs cron, every or at/],
    ['a chain', job({ within: '1m' }, { after: 'b' }), /expect\.within needs cron, every or at/],
    ['no duration', job({ maxDuration: 'long' }), /expect\.maxDuration "long" is not a duration/],
    ['too short', job({ maxDuration: 10 }), /expect\.maxDuration 10 is less than 1s/],
  ])('refuses %s', (_what, define, message) => {
    expect(define).toThrow(message);
  });

  it('is taken with a schedule, and a duration without one', () => {
    expect(job({ within: '10m', maxDuration: '1h' }, { cron: '0 * * * *' })).not.toThrow();
    expect(job({ maxDuration: '1h' })).not.toThrow();
  });
});

describe('the dashboard’s address and the zone of a channel', () => {
  it('are read, the address without a slash at its end', () => {
    const { dashboard, channels } = readAlerts({
      dashboard: 'https://ops.example.com/tock/',
      channels: [{ slack: { env: 'X' }, timezone: 'Europe/Berlin' }],
    });
    expect(dashboard).toBe('https://ops.example.com/tock');
    expect(channels.get('slack')?.timezone).toBe('Europe/Berlin');
    expect(readAlerts({}).dashboard).toBeNull();
  });

  it.each([
    '/tock',
    'ops.example.com',
    'ftp://ops/x',
    'https://mia:s3cret@ops/x',
    'https://ops/x?token=s3cret',
  ])('refuse what is no address, or has a secret in it: %s', dashboard => {
    expect(() => readAlerts({ dashboard })).toThrow(/alerts\.dashboard is not an address such as/);
    expect(() => readAlerts({ dashboard })).not.toThrow(/s3cret/);
  });

  it('refuse a zone that there is not', () => {
    expect(() => readAlerts({ channels: [{ slack: { env: 'X' }, timezone: 'Europe/Berln' }] })).toThrow(
      /Europe\/Berln/,
    );
  });
});
