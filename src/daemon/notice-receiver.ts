// What each notice makes a daemon do. Runs that are only due soon have a limit of their own: a stream of them
// finds nothing to claim, and must not hold up those that are due.
import type { EnqueueHint } from '../engine/claim/enqueue-hint.js';
import { createNoticeLimiter } from '../engine/claim/notice-limiter.js';
import type { Worker } from '../engine/worker/worker-interface.js';
import type { Notice } from '../store/connection/notices.js';

export interface NoticeReceiver {
  readonly receive: (notice: Notice) => void;
  /** A claim has found runs, so the next notice has its effect at once. */
  found(): void;
  /** Notices have no effect from now on. */
  readonly close: () => void;
}

interface NoticeReceiverOptions {
  readonly worker: Pick<Worker, 'checkCancel' | 'wake' | 'wakeNotified' | 'expectWaiting'>;
  readonly hint: EnqueueHint;
  /** There is something to reap. */
  readonly onReap: () => void;
}

export function createNoticeReceiver({ worker, hint, onReap }: NoticeReceiverOptions): NoticeReceiver {
  const due = createNoticeLimiter(worker.wakeNotified);
  const soon = createNoticeLimiter(worker.wake);
  const code = createNoticeLimiter(() => worker.expectWaiting());
  return {
    receive(notice) {
      if (notice.kind === 'cancel') worker.checkCancel(notice.runId);
      else if (notice.kind === 'soon') soon.notice();
      else if (notice.kind === 'code') code.notice();
      else if (notice.kind === 'reap') {
        onReap();
        // What is handed back may lie anywhere.
        hint.record(null);
        due.notice();
      } else if (notice.kind === 'queued' && hint.record(notice.lane)) due.notice();
    },
    found() {
      due.found();
      soon.found();
      code.found();
    },
    close() {
      due.close();
      soon.close();
      code.close();
    },
  };
}
