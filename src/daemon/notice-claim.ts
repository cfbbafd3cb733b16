// A daemon that sleeps and is woken by a notice claims over the connection that brought it, before its next
// pass: the shortest way to the handler.
import type { EnqueueHint } from '../engine/claim/enqueue-hint.js';
import type { Notified, Worker } from '../engine/worker/worker-interface.js';
import type { Session } from '../store/connection/database.js';

export interface NoticeClaim {
  /** Claims where the hint says; otherwise wakes the worker, so that the next pass claims. */
  start(): void;
  /** Waits for the claim that was started since the last call, and says what it found; null: no claim. */
  take(): Promise<Notified | null>;
}

interface NoticeClaimOptions {
  readonly worker: Pick<Worker, 'claimNotified' | 'running' | 'wake' | 'wakeAfterClaim'>;
  readonly hint: EnqueueHint;
  /** Whether the daemon sleeps: no pass is under way. */
  readonly isSleeping: () => boolean;
  /** The connection that listens; null: none. */
  readonly session: () => Session | null;
}

/** No claim under way. */
export function createNoticeClaim({ worker, hint, isSleeping, session }: NoticeClaimOptions): NoticeClaim {
  let claim: Promise<Notified> | null = null;

  const send = () => {
    const over = session();
    if (claim !== null || over === null || worker.running > 0 || !isSleeping()) return null;
    const place = hint.take();
    if (place === null) return null;
    const sent = worker.claimNotified(place, over);
    // The next pass claims there.
    if (sent === null) hint.record(place);
    return sent;
  };

  return {
    start() {
      const sent = send();
      if (sent === null) return worker.wake();
      claim = sent;
      // The pass that follows throws what the claim has thrown.
      sent.then(worker.wakeAfterClaim, worker.wake);
    },
    async take() {
      const taken = claim;
      claim = null;
      return await taken;
    },
  };
}
