// defineQueue: what it takes, and what it refuses, with the form to write.
import { describe, expect, it } from 'vitest';
import { defineJob, defineQueue, type QueueOptions } from '../../../src/index.js';
import { createRegistry } from '../../../src/model/job/registry.js';

const job = defineJob({ name: 'send', run: () => null });

describe('defineQueue', () => {
  it('states every limit of a queue; one that is left out is none', () => {
    const fair = { key: ({ tenant }: { tenant: number }) => tenant, limit: 3, rate: { limit: 2, per: '1s' } };
    const mail = defineQueue({
      name: 'mail',
      concurrency: 4,
      rate: { count: 100, per: '1m' },
      window: '08:00-18:00',
      timezone: 'Europe/Berlin',
      relay: 'rabbitmq',
      fair,
    });
    expect(mail).toMatchObject({ kind: 'tock.queue', name: 'mail', file: import.meta.filename });
    expect(mail.settings).toEqual({
      concurrency: 4,
      rate: { count: 100, perMs: 60_000 },
      window: '08:00-18:00',
      timezone: 'Europe/Berlin',
      relay: 'rabbitmq',
      fair: { path: '$.tenant', limit: 3, rate: { limit: 2, perMs: 1000, burst: 2 } },
    });
    expect(defineQueue({ name: 'plain' }).settings).toEqual({
      concurrency: null,
      rate: null,
      window: null,
      timezone: 'UTC',
      relay: null,
      fair: null,
    });
  });

  it.each<[object, string, RegExp]>([
    [{ name: 'a b' }, 'TOCK_BAD_OPTION', /queue "a b": "a b" cannot be the name of a queue/],
    [{ concurrency: 4 }, 'TOCK_BAD_OPTION', /cannot be the name of a queue/],
    [
      { name: 'mail', concurency: 4 },
      'TOCK_BAD_OPTION',
      /no option "concurency"; did you mean "concurrency"/,
    ],
    [{ name: 'mail', concurrency: -1 }, 'TOCK_BAD_OPTION', /concurrency -1 is not a whole number from 0 to/],
    [
      { name: 'mail', rate: '100/1m' },
      'TOCK_BAD_OPTION',
      /rate "100\/1m" is none; write \{ count: 100, per: '1m' \}/,
    ],
    [
      { name: 'mail', rate: { limit: 1, per: '1m' } },
      'TOCK_BAD_OPTION',
      /rate has no option "limit"; it has count, per/,
    ],
    [{ name: 'mail', rate: { count: 1, per: 'soon' } }, 'TOCK_BAD_DURATION', /rate.per/],
    [{ name: 'mail', window: '8-18' }, 'TOCK_BAD_SCHEDULE', /window/],
    [{ name: 'mail', timezone: 'Mars' }, 'TOCK_BAD_SCHEDULE', /Mars/],
    [{ name: 'mail', relay: '' }, 'TOCK_BAD_OPTION', /relay/],
    [{ name: 'mail', fair: 'tenant' }, 'TOCK_BAD_OPTION', /write it as '\$.tenant'/],
    [{ name: 'mail', until: '2h' }, 'TOCK_BAD_OPTION', /no option "until"/],
  ])('refuses %j', (options, code, message) => {
    expect(() => defineQueue(options as QueueOptions)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
    expect(() => defineQueue(options as QueueOptions)).toThrow(/define-queue\.test\.ts:\d+: /);
  });
});

describe('the registry', () => {
  const mail = defineQueue({ name: 'mail', concurrency: 4 });

  it('has another fingerprint with each statement of a queue, and the same for the same', () => {
    const prints = [
      createRegistry([job]),
      createRegistry([job], []),
      createRegistry([job], [mail]),
      createRegistry([job], [defineQueue({ name: 'mail', concurrency: 4 })]),
      createRegistry([job], [defineQueue({ name: 'mail', concurrency: 5 })]),
      createRegistry([job], [mail, defineQueue({ name: 'plain' })]),
      createRegistry([job], [defineQueue({ name: 'plain' }), mail]),
    ].map(({ fingerprint }) => fingerprint);
    expect(prints.map(print => prints.indexOf(print))).toEqual([0, 0, 2, 2, 4, 5, 5]);
  });

  it.each<[unknown, RegExp]>([
    [[mail, mail], /queue mail is defined twice: in .*define-queue\.test\.ts, and in .*; remove one/],
    [[{ name: 'mail' }], /element 0 of queues was not made by defineQueue: .*write: queues = \[defineQueue/],
    ['mail', /queues is "mail", and no array; write: queues = \[defineQueue/],
  ])('refuses %j', (queues, message) => {
    expect(() => createRegistry([job], queues as never)).toThrow(
      expect.objectContaining({ code: 'TOCK_BAD_OPTION', message: expect.stringMatching(message) }),
    );
  });
});
