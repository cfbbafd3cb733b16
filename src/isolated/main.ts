// The child process of one isolated attempt; started by engine/execute/isolate/fork-child.ts only. It gets
// the order, perhaps an abort, by IPC, sends logs, progress and one answer, and then ends, whatever the
// handler has left behind.
import { Worker } from 'node:worker_threads';
import { type IsolatedAttempt, openIsolatedAttempt } from '../engine/execute/isolate/child.js';
import type { Answer, FromChild, Order, ToChild } from '../engine/execute/isolate/protocol.js';
import { endOutput, surviveLostOutput } from '../environment/output.js';
import { systemClock } from '../environment/system-clock.js';
import { packError } from '../model/run/errors/error-data.js';
import { loadJobs } from '../runtime/job-module.js';
import { onStopSignal } from '../runtime/stop-signal.js';
import { createTock } from '../tock/create-tock.js';
import { endGroup } from './end-group.js';

surviveLostOutput();
let attempt: IsolatedAttempt | null = null;
let mustStop = false;
let hasAnswered = false;

function send(message: FromChild, onSent: () => void = () => undefined): void {
  if (process.connected) process.send?.(message, undefined, undefined, onSent);
  else onSent();
}

function answer(message: Answer): void {
  if (hasAnswered) return;
  hasAnswered = true;
  // Exiting before the message is sent could cut it off, and so it is with what was printed.
  send(message, () => void endOutput(null).then(() => process.exit(0)));
}

/** Its own thread works even while the handler computes. Resolves when it is ready. */
async function startWatch(): Promise<void> {
  const watch = new Worker(new URL('isolated-watch.js', import.meta.url), { execArgv: [] });
  watch.unref();
  await new Promise((resolve, reject) => {
    watch.once('message', resolve);
    watch.once('error', reject);
  });
}

async function executeOrder(order: Order, watching: Promise<void>): Promise<void> {
  attempt = openIsolatedAttempt(
    systemClock,
    order,
    send,
    (pool, { schema, settings, appName, jobsModule }, jobs) => {
      const { retry, maxPayloadBytes, service } = settings;
      const operator = appName === null ? {} : { operator: appName };
      return createTock({ pool, schema, service, jobs, jobsModule, retry, maxPayloadBytes, ...operator });
    },
  );
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
// A supervisor may signal all processes at once, but the worker decides when a run must stop, by an abort.
onStopSignal(() => {
  if (mustStop) process.exit(1);
});
// An error in something that a handler left unawaited ends its attempt.
process.on('uncaughtException', error => answer({ kind: 'threw', error: packError(error) }));
// The worker is gone. Exiting alone would leave behind the processes that the handler started.
process.on('disconnect', endGroup);
const watching = startWatch();
watching.catch((error: unknown) => answer({ kind: 'threw', error: packError(error) }));
process.on('message', (message: ToChild) => {
  if (message.kind === 'begin') void executeOrder(message.order, watching);
  else {
    mustStop = true;
    attempt?.abort(message.reason);
  }
});
