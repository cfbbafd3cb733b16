// The adapter as a process of its own, as the public harness runs it: paced over its standard input.
// In: a contestant's id, a database's URL, environment variables. Out: its samples by their time; its end.
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
const SAMPLE_WITHIN_MS = 15_000;
const STOPS_WITHIN_MS = 30_000;
const LOG_LINES = 200;

/** Resolves once it has described itself. */
export async function startAdapter({ who, url, env, nodeFlags = [] }) {
  const child = track(
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
  // It may be gone when a token is written.
  child.stdin.on('error', () => undefined);
  const logged = [];
  createInterface({ input: child.stderr }).on('line', line => {
    logged.push(line);
    if (logged.length > LOG_LINES) logged.shift();
  });
  const samples = new Map();
  const latest = {};
  const written = createInterface({ input: child.stdout });
  const described = new Promise(resolve => {
    written.on('line', line => {
      const record = JSON.parse(line);
      if (record.kind === 'descriptor') resolve(record);
      else {
        const at = Date.parse(record.t);
        if (!samples.has(at)) samples.set(at, {});
        samples.get(at)[record.metric] = record.value;
        latest[record.metric] = record.value;
      }
    });
  });
  // All that it wrote has been read then.
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code: code ?? signal }));
  });
  const died = ended.then(({ code }) => {
    throw new Error(`the adapter of ${who} ended with ${code}:\n${logged.slice(-10).join('\n')}`);
  });
  died.catch(() => undefined);
  const orDied = async (what, promise, withinMs) => {
    const late = new AbortController();
    const tooLate = sleep(withinMs, undefined, { signal: late.signal }).then(() => {
      throw new Error(`${what} did not come:\n${logged.slice(-10).join('\n')}`);
    });
    tooLate.catch(() => undefined);
    try {
      return await Promise.race([promise, died, tooLate]);
    } finally {
      late.abort();
    }
  };

  let pacing;
  const descriptor = await orDied('the descriptor', described, DESCRIBED_WITHIN_MS);
  return {
    descriptor,
    latest,
    logged,
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
          child.stdin.write(`ENQUEUE ${count}\n`);
        }
      }, PACE_MS);
    },
    /** The sample of a time, a whole second, once all of it is there. */
    async sampleAt(at) {
      const complete = async () => {
        while (!REQUIRED.every(metric => metric in (samples.get(at) ?? {}))) await sleep(20);
        return samples.get(at);
      };
      const left = Math.max(0, at - Date.now()) + SAMPLE_WITHIN_MS;
      return await orDied(`the sample of ${new Date(at).toISOString()}`, complete(), left);
    },
    /** Those from after `from` up to `until`. */
    samplesBetween: (from, until) =>
      [...samples].filter(([at]) => at > from && at <= until).map(([at, values]) => ({ at, ...values })),
    /** SIGTERM, under load; how long it takes until it is gone, and with what. */
    async stop() {
      const began = performance.now();
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOPS_WITHIN_MS);
      const { code } = await ended;
      clearTimeout(timer);
      clearInterval(pacing);
      return { code, seconds: (performance.now() - began) / 1000 };
    },
    died,
  };
}
