// What a worker and its watcher say to each other, and what is none of it.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isKept, tell } from '../../../src/cli/watch/join-watcher.js';

describe('a message', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('hands a dashboard over if it has a port, whatever a job’s library sends', () => {
    expect(isKept({ dashboard: { port: 8625 } })).toBe(true);
    for (const message of [null, undefined, 'ready', 1, {}, { dashboard: null }, { dashboard: 'up' }])
      expect([message, isKept(message)]).toEqual([message, false]);
  });

  it('to a watcher that was killed is sent to nobody, and nothing fails', () => {
    const send = vi.fn<() => void>(() => {
      throw new Error('the channel is closed');
    });
    const watched = (connected: boolean) => ({ ...process, connected, send });
    vi.stubGlobal('process', watched(false));
    expect(() => tell('running')).not.toThrow();
    expect(send).not.toHaveBeenCalled();
    vi.stubGlobal('process', watched(true));
    expect(() => tell('running')).toThrow(/closed/);
  });
});
