// What the harness tells an adapter before its start.
// In: environment variables. Out: options, with the protocol's defaults; an error that names the variable.

export function readOptions(env) {
  const scenario = env.SCENARIO ?? 'long_horizon';
  if (scenario !== 'long_horizon')
    throw new Error(`SCENARIO=${scenario} is not known here: there is long_horizon only`);
  if (!env.DATABASE_URL) throw new Error('DATABASE_URL names no database');
  const number = (name, byDefault, { least = 0, isWhole = true } = {}) => {
    const value = Number(env[name] || byDefault);
    if (Number.isFinite(value) && value >= least && (!isWhole || Number.isInteger(value))) return value;
    throw new Error(`${name}=${env[name]} is not a ${isWhole ? 'whole ' : ''}number from ${least}`);
  };
  const choice = (name, all) => {
    const value = env[name] || all[0];
    if (all.includes(value)) return value;
    throw new Error(`${name}=${value} is none of ${all.join(', ')}`);
  };
  return {
    url: env.DATABASE_URL,
    instance: number('BENCH_INSTANCE_ID', 0),
    mode: choice('PRODUCER_MODE', ['fixed', 'depth-target']),
    pacing: choice('PRODUCER_PACING', ['adapter', 'harness']),
    rate: number('PRODUCER_RATE', 800, { isWhole: false }),
    rateFile: env.PRODUCER_RATE_CONTROL_FILE || undefined,
    batchMax: number('PRODUCER_BATCH_MAX', 128, { least: 1 }),
    batchMs: number('PRODUCER_BATCH_MS', 25, { least: 1 }),
    targetDepth: number('TARGET_DEPTH', 1000),
    workers: number('WORKER_COUNT', 32, { least: 1 }),
    payloadBytes: number('JOB_PAYLOAD_BYTES', 256),
    workMs: number('JOB_WORK_MS', 1, { isWhole: false }),
    sampleSeconds: number('SAMPLE_EVERY_S', 5, { least: 1 }),
    // Our own, beside the protocol: a shorter window for dry runs, and a file by which a next process knows
    // what an earlier one had enqueued.
    windowSeconds: number('CLAIM_WINDOW_S', 30, { least: 1 }),
    ledgerFile: env.BENCH_LEDGER || undefined,
  };
}
