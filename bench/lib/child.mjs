// Starts the process of a worker or a producer and talks with it.
// In: a role (see child-main.mjs) and its options. Out: its result, or its error.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const alive = new Set();
const main = fileURLToPath(new URL('child-main.mjs', import.meta.url));

/** Remembers a child until it has ended, for `killChildren`. */
export function track(child) {
  alive.add(child);
  child.once('exit', () => alive.delete(child));
  return child;
}

/** Ends all children that are still there. */
export function killChildren() {
  for (const child of alive) child.kill('SIGKILL');
}

/**
 * Starts a child. `result` resolves at its end; `tell` sends it a word; `next` resolves with its next such message;
 * `end` kills it.
 */
export function startChild({ nodeFlags = [], ...options }) {
  const child = track(
    fork(main, [], { execArgv: nodeFlags, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  );
  const latest = {};
  const result = new Promise((resolve, reject) => {
    let outcome;
    child.on('message', message => {
      Object.assign(latest, message);
      if ('result' in message) outcome = message.result;
      if ('error' in message) reject(new Error(`${options.who} ${options.role}: ${String(message.error)}`));
    });
    child.on('error', reject);
    child.on('exit', (code, signal) =>
      outcome === undefined
        ? reject(new Error(`${options.who} ${options.role}: ended with ${code ?? signal}`))
        : resolve(outcome),
    );
  });
  // Whoever waits for `next` learns of it by `result`.
  result.catch(() => undefined);
  child.send(options);
  const next = async key => {
    const arrived = new Promise(resolve => {
      const look = message => {
        if (!(key in message)) return;
        child.off('message', look);
        resolve(message[key]);
      };
      child.on('message', look);
    });
    return await Promise.race([arrived, result.then(() => undefined)]);
  };
  return { latest, result, next, tell: word => child.send(word), end: () => child.kill('SIGKILL') };
}

/** Runs a child to its end. */
export async function runChild(options) {
  return await startChild(options).result;
}
