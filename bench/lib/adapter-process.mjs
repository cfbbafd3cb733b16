// The adapter as a process of its own, as the public harness runs it: paced over its standard input. Where it
// ends by itself it is started again, as a supervisor would.
// In: a contestant's id, a database's URL, environment variables. Out: its samples by their time; its ends.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { track } from './child.mjs';

const main = fileURLToPath(new URL('../adapter/main.mjs', import.meta.url));

const PACE_MS = 25;
const BATCH_MOST = 128;
const REQUIRED = [
  'claim_p50_ms',
  'claim_p95_ms',
  'claim_p99_ms',
  'enqueue_rate',
  'completion_rate',
  'queue_depth',
];
const DESCRIBED_WITHIN_MS = 60_000;
/** After its time. A depth that has to wait for a connection comes later than the rest. */
const SAMPLE_WITHIN_MS = 5000;
const STOPS_WITHIN_MS = 30_000;
const START_AGAIN_MS = 1000;
/** So often in a row without a sample: it will not come any more. */
const VAIN_STARTS_MOST = 30;
const LOG_LINES = 200;

/** Resolves once it has described itself. */
export async function startAdapter({ who, url, env, nodeFlags = [] }) {
  const logged = [];
  const crashes = [];
  const samples = new Map();
  const latest = {};
  let isStopping = false;
  let vainStarts = 0;
  let child;
  let ended;
  let describe;
  const described = new Promise(resolve => {
    describe = resolve;
  });
  let give;
  const givenUp = new Promise((_, reject) => {
    give = reject;
  });
  givenUp.catch(() => undefined);

  const read = line => {
    const record = JSON.parse(line);
    if (record.kind === 'descriptor') return describe(record);
    vainStarts = 0;
    const at = Date.parse(record.t);
    if (!samples.has(at)) samples.set(at, {});
    samples.get(at)[record.metric] = record.value;
    latest[record.metric] = record.value;
  };
  const run = () => {
    const each = track(
      spawn(process.execPath, [...nodeFlags, main, who], {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: {
          ...process.env,
          ...env,
          DATABASE_URL: url,
          SCENARIO: 'long_horizon',
          PRODUCER_PACING: 'harness',
        },
      }),
    );
    child = each;
    // It may be gone when a token is written.
    each.stdin.on('error', () => undefined);
    createInterface({ input: each.stdout }).on('line', read);
    createInterface({ input: each.stderr }).on('line', line => {
      logged.push(line);
      if (logged.length > LOG_LINES) logged.shift();
    });
    // All that it wrote has been read then.
    ended = new Promise(resolve => each.on('close', (code, signal) => resolve(code ?? signal)));
    void ended.then(async code => {
      if (isStopping) return;
      const why = logged.findLast(line => line.includes('uncaught')) ?? logged.at(-1) ?? '';
      crashes.push({ at: Date.now(), code, why: why.slice(0, 200) });
      if (++vainStarts > VAIN_STARTS_MOST || code === 'SIGKILL')
        return give(new Error(`the adapter of ${who} ends with ${code}:\n${logged.slice(-10).join('\n')}`));
      await sleep(START_AGAIN_MS);
      if (!isStopping) run();
    });
  };
  const within = async (what, ms) => {
    await sleep(ms, undefined, { ref: false });
    throw new Error(`${what} did not come:\n${logged.slice(-10).join('\n')}`);
  };

  run();
  const late = within(`the descriptor of ${who}`, DESCRIBED_WITHIN_MS);
  late.catch(() => undefined);
  const descriptor = await Promise.race([described, givenUp, late]);
  let pacing;
  const halt = () => {
    isStopping = true;
    clearInterval(pacing);
  };
  return {
    descriptor,
    latest,
    crashes,
    /** Rejects where it cannot be kept running. */
    givenUp,
    /** Offers so many jobs a second, by the time that has really passed. */
    pace(rate) {
      let last = performance.now();
      let credit = 0;
      pacing = setInterval(() => {
        const now = performance.now();
        credit += (rate * (now - last)) / 1000;
        last = now;
        while (credit >= 1) {
          const count = Math.min(Math.floor(credit), BATCH_MOST);
          credit -= count;
          // What a process that has ended was told is gone with it.
          if (child.exitCode === null) child.stdin.write(`ENQUEUE ${count}\n`);
        }
      }, PACE_MS);
    },
    /** The sample of a time, a whole second, once all of it is there; undefined where it does not come. */
    async sampleAt(at) {
      const isThere = () => REQUIRED.every(metric => metric in (samples.get(at) ?? {}));
      while (!isThere() && Date.now() < at + SAMPLE_WITHIN_MS) await Promise.race([sleep(20), givenUp]);
      return isThere() ? samples.get(at) : undefined;
    },
    /** Those from after `from` up to `until`, in order. */
    samplesBetween: (from, until) =>
      [...samples].filter(([at]) => at > from && at <= until).map(([at, values]) => ({ at, ...values })),
    /** SIGTERM, under load; how long it takes until it is gone, and with what. */
    async stop() {
      halt();
      const began = performance.now();
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOPS_WITHIN_MS);
      const code = await ended;
      clearTimeout(timer);
      return { code, seconds: (performance.now() - began) / 1000 };
    },
    /** At the end of everything, also where it has failed. */
    end: () => {
      halt();
      child.kill('SIGKILL');
    },
  };
}
