// The process of a worker or a producer. It shares no event loop with who drives it.
// In: one message with what to do. Out: messages; a result at the end.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { monotonicMs } from './clock.mjs';

/** Each message costs both processes as much as some runs: many ends are told at once. */
const TELL_AT_ONCE = 500;
const TELL_MS = 10;
const TELL_WITHIN_MS = 100;

/** So that a benchmark ends where runs are lost. */
const STUCK_MS = 120_000;
const ROLES = { drain, serve, produce };

// Without its driver it has nothing to do here.
process.on('disconnect', () => process.exit());

process.once('message', message => void begin(message));

async function begin({ role, who, ...options }) {
  try {
    const result = await ROLES[role](await contestant(who), options);
    process.send({ result }, () => process.disconnect());
  } catch (error) {
    process.send({ error: error.stack ?? String(error) }, () => process.exit(1));
  }
}

function told(word) {
  return new Promise(resolve => {
    process.on('message', message => message === word && resolve());
  });
}

/** From the start of a worker until all has been executed and written. With when each twentieth was reached. */
async function drain({ worker }, { url, settings, count, handlerMs = 0, sampleMs = 0 }) {
  let seen = -1;
  const step = Math.max(1, Math.floor(count / 20));
  const marks = [];
  const memory = [];
  let done = 0;
  let finish;
  const finished = new Promise(resolve => {
    finish = resolve;
  });
  const note = () => {
    done++;
    if (done % step === 0) marks.push([done, performance.now() - began]);
    if (done === count) finish();
  };
  const handler = async () => {
    if (handlerMs > 0) await sleep(handlerMs);
    note();
  };
  const sampler = sampleMs > 0 ? setInterval(sample, sampleMs) : undefined;
  function sample() {
    memory.push([done, process.memoryUsage.rss() / 2 ** 20]);
  }
  const began = performance.now();
  const running = await worker(url, { ...settings, handler });
  const stuck = new Promise((_, reject) => {
    const watch = setInterval(() => {
      if (done === seen) reject(new Error(`nothing was executed for ${STUCK_MS / 1000} s, after ${done}`));
      seen = done;
    }, STUCK_MS);
    watch.unref();
  });
  await Promise.race([finished, stuck]);
  const handledMs = performance.now() - began;
  if (sampler) sample();
  clearInterval(sampler);
  await running.stop();
  return {
    handled: done,
    seconds: (performance.now() - began) / 1000,
    handledSeconds: handledMs / 1000,
    marks,
    memory,
  };
}

/**
 * A worker for as long as it is wanted; with `waits`, from when it is told to go. Tells how many it executed, and
 * how long each took to start; where the contestant says so, also how many are completed, and when, by their ids.
 */
async function serve({ worker }, { url, settings, handlerMs = 0, waits = false }) {
  const latencies = [];
  const completions = [];
  let done = 0;
  let completed = 0;
  let handlersMs = 0;
  const complete = id => {
    completed++;
    if (settings.times) completions.push([String(id), monotonicMs()]);
  };
  const handler = async payload => {
    if (typeof payload?.at === 'number') latencies.push(monotonicMs() - payload.at);
    if (handlerMs > 0) {
      const began = performance.now();
      await sleep(handlerMs);
      handlersMs += performance.now() - began;
    }
    done++;
  };
  const stopped = told('stop');
  process.on('message', message => {
    if (message === 'usage')
      process.send({ usage: { ...process.cpuUsage(), rss: process.memoryUsage.rss() } });
  });
  const go = waits ? told('go') : undefined;
  process.send({ ready: true });
  await go;
  const cpuBefore = process.cpuUsage();
  const running = await worker(url, { ...settings, handler, completed: complete });
  process.send({ started: true });
  let sent = -1;
  let sentAt = 0;
  let seen = -1;
  const teller = setInterval(() => {
    const now = done + completed;
    const isWorthIt =
      now - sent >= TELL_AT_ONCE || now === seen || performance.now() - sentAt >= TELL_WITHIN_MS;
    seen = now;
    if (now === sent || !isWorthIt) return;
    sent = now;
    sentAt = performance.now();
    process.send({ done, completed });
  }, TELL_MS);
  await stopped;
  clearInterval(teller);
  await running.stop();
  const { user, system } = process.cpuUsage(cpuBefore);
  return { handled: done, latencies, completions, handlersMs, cpuSeconds: (user + system) / 1e6 };
}

/**
 * Adds rows in batches, one after the other over one connection, once it is told to go; keeps the connection until it is
 * told to stop, so that what the server spent on it can be read.
 */
async function produce({ producer }, { url, count, batch, keys }) {
  const producing = await producer(url);
  // Connected, and the statement seen once.
  await producing.addMany([{ n: -1 }], { keys });
  const [go, stop] = [told('go'), told('stop')];
  process.send({ ready: true });
  await go;
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  for (let from = 0; from < count; from += batch) {
    const payloads = Array.from({ length: Math.min(batch, count - from) }, (_, index) => ({
      n: from + index,
    }));
    await producing.addMany(payloads, { keys });
  }
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  process.send({ added: true });
  await stop;
  await producing.close();
  return { handled: count, seconds, cpuSeconds: (user + system) / 1e6 };
}
