// Engine: waiting for a change. None is lost, and none is taken for less than it was.
import { describe, expect, it } from 'vitest';
import { createWakeup } from '../../../src/engine/worker/wakeup.js';
import { systemClock } from '../../../src/environment/system-clock.js';

const LONG_MS = 600_000;

describe('a wait', () => {
  it('ends by time, or says what ended it', async () => {
    const { change, wake } = createWakeup(systemClock);
    expect(await change(1)).toBe('time');
    const waiting = [change(LONG_MS), change(LONG_MS)];
    wake('idle');
    expect(await Promise.all(waiting)).toEqual(['idle', 'idle']);
  });

  it('ends at once after a wake that nothing waited for, also where an earlier wait had ended by time', async () => {
    const { change, wake } = createWakeup(systemClock);
    expect(await change(1)).toBe('time');
    wake();
    expect(await change(LONG_MS)).toBe('change');
    expect(await change(1)).toBe('time');
  });

  it('ends for a change, whatever else came before or after it', async () => {
    const { change, wake } = createWakeup(systemClock);
    wake('idle');
    wake();
    wake('idle');
    expect(await change(LONG_MS)).toBe('change');
    wake('idle');
    expect(await change(LONG_MS)).toBe('idle');
  });

  it.each([
    ['idle', 'notified'],
    ['notified', 'idle'],
  ] as const)('ends for an answered claim after %s and %s', async (first, second) => {
    const { change, wake } = createWakeup(systemClock);
    wake(first);
    wake(second);
    expect(await change(LONG_MS)).toBe('notified');
    wake('notified');
    wake();
    wake('notified');
    expect(await change(LONG_MS)).toBe('change');
  });
});
