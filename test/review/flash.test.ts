// Review: messages after actions.
import { beforeAll, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { type Pages, pagesOf } from '../dashboard/runs-kit.js';
import { storeTest } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const mail = defineJob({ name: 'mail', run: () => undefined });
const { test } = storeTest(NOW, () => reuseTestTock([mail]));
let pages: Pages;
beforeAll(() => {
  pages = pagesOf(test.tock, { role: 'admin' });
});

describe('flash', () => {
  it('an unmute of a name of a thousand emoji is no 500', async () => {
    const { status } = await pages.post('/alerts/unmute', { name: `a${'😀'.repeat(600)}` });
    expect(status).toBe(303);
  });
  it('a lone surrogate / NUL in a name', async () => {
    const { status } = await pages.post('/alerts/unmute', { name: 'a\u0000b' });
    expect(status).toBeLessThan(500);
    const m = await pages.post('/alerts/mute', { name: 'a\u0000b', until: '1h' });
    expect(m.status).toBeLessThan(500);
  });
  it.each([
    '/schedules?name=%00',
    '/schedules?job=%00',
    '/schedules/%00',
    '/queues/x?key=%00',
    '/runs.json?payload=a%3D1e999999',
    '/runs.csv?payload=a%3D1e999999',
  ])('%s is no 500', async path => {
    const { status } = await pages.get(path);
    expect(status, path).toBeLessThan(500);
  });
});
