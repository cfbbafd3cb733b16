// What a notification may say: anybody may send anything, and only what Tock sends is read.
import { describe, expect, it } from 'vitest';
import { readNotification } from '../../../src/store/connection/notifications.js';

describe('readNotification', () => {
  it.each([
    ['queued', { kind: 'queued', lane: null }],
    ['queued:0:mail', { kind: 'queued', lane: { queue: 'mail', priority: 0 } }],
    ['queued:-2147483647:mail:eu', { kind: 'queued', lane: { queue: 'mail:eu', priority: -2_147_483_647 } }],
    [`queued:7:${'q'.repeat(200)}`, { kind: 'queued', lane: { queue: 'q'.repeat(200), priority: 7 } }],
    ['reap', { kind: 'reap' }],
    ['cancel:9223372036854775807', { kind: 'cancel', runId: '9223372036854775807' }],
  ])('reads %s', (payload, notification) => {
    expect(readNotification(payload)).toEqual(notification);
  });

  it.each([
    '',
    'listening',
    'queued:',
    'queued:0:',
    'queued:0:   ',
    'queued:0:mail\nqueued',
    'queued:1.5:mail',
    'queued:0x10:mail',
    'queued:--1:mail',
    'queued:2147483648:mail',
    'queued:99999999999999999999:mail',
    `queued:0:${'q'.repeat(7900)}`,
    'queued:0:mail; drop table x',
    'queued:0:__proto__',
    'reap:1',
    'cancel:',
    'cancel:-1',
    'cancel:1 or 1=1',
    `cancel:${'9'.repeat(7900)}`,
  ])('passes over %j', payload => {
    expect(readNotification(payload)).toBeNull();
  });
});
