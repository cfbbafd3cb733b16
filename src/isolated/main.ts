// Shell: isolated. The child process of one attempt of an isolated job; started by engine/execute/isolate/fork-child.ts, never by hand.
// In, over IPC: the order, and perhaps that the attempt must stop. Out, over IPC: logs, progress, one answer; then
// the process ends, whatever the handler may have left behind.
import { Worker } from 'node:worker_threads';
import { type IsolatedAttempt, openIsolatedAttempt } from '../engine/execute/isolate/child.js';
import type { Answer, FromChild, Order, ToChild } from '../engine/execute/isolate/protocol.js';
import { packError } from '../model/run/error-data.js';
import { loadJobs } from '../runtime/job-module.js';
import { endGroup } from './end-group.js';

let attempt: IsolatedAttempt | null = null;
let mustStop = false;
let hasAnswered = false;

function tell(message: FromChild, done: () => void = () => undefined): void {
  if (process.connected) process.send?.(message, undefined, undefined, done);
  else done();
}

function answer(message: Answer): void {
  if (hasAnswered) return;
  hasAnswered = true;
  // process.exit in the answer's own turn could cut it off.
  tell(message, () => process.exit(0));
}

/** Keeps watch from a thread of its own, which works also while the handler computes. Resolves when it is on guard. */
async function keepWatch(): Promise<void> {
  const watch = new Worker(new URL('isolated-watch.js', import.meta.url), { execArgv: [] });
  watch.unref();
  await new Promise((resolve, reject) => {
    watch.once('message', resolve);
    watch.once('error', reject);
  });
}

async function live(order: Order, watching: Promise<void>): Promise<void> {
  attempt = openIsolatedAttempt(order, tell);
  answer(
    await attempt.execute(async () => {
      const [jobs] = await Promise.all([loadJobs(order.jobsModule), watching]);
      return jobs;
    }),
  );
}

if (process.send === undefined) {
  process.stderr.write('isolated: a worker starts this script, for one attempt of an isolated job\n');
  process.exit(2);
}
// A supervisor may signal all processes at once. The worker decides when a run must stop, and says so first.
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(name, () => {
    if (mustStop) process.exit(1);
  });
}
// What a handler left unawaited is part of its attempt.
process.on('uncaughtException', error => answer({ kind: 'threw', error: packError(error) }));
// The worker is gone. To exit alone, before the watch has seen it too, would leave behind what the handler started.
process.on('disconnect', endGroup);
const watching = keepWatch();
watching.catch((error: unknown) => answer({ kind: 'threw', error: packError(error) }));
process.on('message', (message: ToChild) => {
  if (message.kind === 'begin') void live(message.order, watching);
  else {
    mustStop = true;
    attempt?.abort(message.reason);
  }
});
