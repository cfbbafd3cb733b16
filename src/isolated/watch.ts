// The thread of a child process that kills it, with SIGKILL to its group, when its worker is gone or the
// lease is over. Each line on the lifeline says for how many milliseconds the child may continue; the kernel
// closes the lifeline when the worker dies.
import { Socket } from 'node:net';
import { parentPort } from 'node:worker_threads';
import { LIFELINE_FD } from '../engine/execute/isolate/protocol.js';
import { endGroup } from './end-group.js';

/** setTimeout counts in 32 bits. */
const MAX_TIMER_MS = 2 ** 31 - 1;

let timer: NodeJS.Timeout | undefined;
let rest = '';
const lifeline = new Socket({ fd: LIFELINE_FD, readable: true, writable: false });
lifeline.on('data', chunk => {
  const lines = (rest + String(chunk)).split('\n');
  rest = lines.pop() ?? '';
  const last = lines.at(-1);
  if (last === undefined) return;
  clearTimeout(timer);
  timer = setTimeout(endGroup, Math.min(Number(last), MAX_TIMER_MS));
});
lifeline.on('end', endGroup);
lifeline.on('error', endGroup);
lifeline.on('close', endGroup);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
parentPort?.postMessage('ready');
