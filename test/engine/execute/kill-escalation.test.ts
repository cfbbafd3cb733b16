// How a child process is made to end. With real processes: test/processes/isolate-endings.check.test.ts.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ABANDON_MS, KillEscalation, TERM_MS } from '../../../src/engine/execute/isolate/kill-escalation.js';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.js';

const GRACE_MS = 10_000;

let sent: string[];
let controller: AbortController;
let escalation: KillEscalation;
let isAbandoned: boolean;
let clock: VirtualClock;
beforeEach(() => {
  clock = createVirtualClock();
  sent = [];
  isAbandoned = false;
  controller = new AbortController();
  const child = {
    send: ({ kind }: { readonly kind: string }) => void sent.push(kind),
    allow: (ms: number) => void sent.push(`allow ${ms}`),
    kill: (name: string) => void sent.push(name),
  };
  escalation = new KillEscalation(clock, child, controller.signal, GRACE_MS);
  void escalation.abandoned.then(({ signal }) => {
    isAbandoned = signal === 'SIGKILL';
  });
});
afterEach(() => escalation.stop());

const pass = (ms: number) => clock.advance(ms);

describe('KillEscalation', () => {
  it('does nothing to a child whose signal has not aborted', async () => {
    await pass(1_000_000);
    expect([sent, escalation.remainingMs(), clock.waiting()]).toEqual([[], null, 0]);
  });

  it('aborts, sends SIGTERM after the grace, SIGKILL a second later, and then gives the child up', async () => {
    controller.abort(new Error('enough'));
    const start = [`allow ${GRACE_MS + TERM_MS}`, 'abort'];
    await pass(GRACE_MS - 1);
    expect(sent).toEqual(start);
    await pass(1);
    expect(sent).toEqual([...start, 'SIGTERM']);
    await pass(TERM_MS - 1);
    expect(sent).toHaveLength(3);
    await pass(1);
    expect(sent).toEqual([...start, 'SIGTERM', 'SIGKILL']);
    await pass(ABANDON_MS - 1);
    expect(isAbandoned).toBe(false);
    await pass(1);
    expect(isAbandoned).toBe(true);
  });

  it('says how long the child has until SIGKILL', async () => {
    controller.abort();
    expect(escalation.remainingMs()).toBe(GRACE_MS + TERM_MS);
    await pass(GRACE_MS);
    expect(escalation.remainingMs()).toBe(TERM_MS);
    await pass(5 * TERM_MS);
    expect(escalation.remainingMs()).toBe(0);
  });

  it('kills a child that has answered and does not end, without SIGTERM', async () => {
    escalation.expectEnd();
    await pass(TERM_MS);
    expect([sent, escalation.remainingMs()]).toEqual([['SIGKILL'], null]);
    await pass(ABANDON_MS);
    expect(isAbandoned).toBe(true);
  });

  it('leaves a child alone that has ended', async () => {
    controller.abort();
    escalation.expectEnd();
    sent = [];
    escalation.stop();
    expect(clock.waiting()).toBe(0);
    await pass(1_000_000);
    expect([sent, isAbandoned]).toEqual([[], false]);
  });

  it('takes no notice of an abort after the child has ended', async () => {
    escalation.stop();
    controller.abort();
    await pass(1_000_000);
    expect([sent, clock.waiting()]).toEqual([[], 0]);
  });
});
