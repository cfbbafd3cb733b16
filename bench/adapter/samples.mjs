// The lines on standard output: a descriptor, then one line for each metric and tick. Logs go to standard
// error.
// In: a system's name, counters and claim times. Out: JSON lines, at the seconds of the clock that the
// cadence divides.

const EVERYWHERE_THE_SAME = new Set(['queue_depth', 'producer_target_rate']);
const SHARES = [
  [0.5, 'claim_p50_ms'],
  [0.95, 'claim_p95_ms'],
  [0.99, 'claim_p99_ms'],
];

export function createVoice({ system, instance }) {
  const write = record => void process.stdout.write(`${JSON.stringify(record)}\n`);
  return {
    describe: what => write({ kind: 'descriptor', system, instance_id: instance, ...what }),
    /** What describes the whole queue is told by the first of several instances only. */
    sample(t, metric, value, window_s) {
      if (instance !== 0 && EVERYWHERE_THE_SAME.has(metric)) return;
      const subject = { kind: 'adapter', subject_kind: 'adapter', subject: '' };
      write({ t: t.toISOString(), system, instance_id: instance, ...subject, metric, value, window_s });
    },
  };
}

/**
 * Samples at every boundary from the next one on. `counters` are read then, and `depth` is asked for; where the
 * database does not answer, the depth is that of before.
 */
export function startSampling({ voice, options, claims, counters, depth, targetRate }) {
  const everyMs = options.sampleSeconds * 1000;
  let before = { ...counters(), at: Date.now() };
  let lastDepth = 0;
  let timer;
  let answering = Promise.resolve();
  const tell = t => {
    claims
      .read(
        SHARES.map(([share]) => share),
        t.getTime(),
      )
      .forEach((value, index) => voice.sample(t, SHARES[index][1], value, options.windowSeconds));
    const now = { ...counters(), at: Date.now() };
    const seconds = Math.max(0.001, (now.at - before.at) / 1000);
    const rate = name => Number(((now[name] - before[name]) / seconds).toFixed(2));
    voice.sample(t, 'enqueue_rate', rate('enqueued'), options.sampleSeconds);
    voice.sample(t, 'completion_rate', rate('completed'), options.sampleSeconds);
    voice.sample(t, 'outstanding', now.outstanding, 0);
    voice.sample(t, 'producer_target_rate', targetRate(), 0);
    before = now;
  };
  const tick = t => {
    next();
    tell(t);
    // One at a time, also where an answer takes longer than a tick.
    answering = answering.then(async () => {
      lastDepth = await depth().catch(() => lastDepth);
      voice.sample(t, 'queue_depth', lastDepth, 0);
    });
  };
  const next = () => {
    const boundary = (Math.floor(Date.now() / everyMs) + 1) * everyMs;
    timer = setTimeout(wait, boundary - Date.now(), boundary);
  };
  // A timer may be a millisecond early.
  const wait = boundary => {
    if (Date.now() < boundary) timer = setTimeout(wait, boundary - Date.now(), boundary);
    else tick(new Date(boundary));
  };
  next();
  return {
    /** What has come since the last tick. */
    flush: () => {
      clearTimeout(timer);
      const t = new Date();
      tell(t);
      voice.sample(t, 'queue_depth', lastDepth, 0);
    },
  };
}
