// Who is measured. Each is loaded only where it is used, so that none weighs on another's process.
// In: an id. Out: a contestant: name, settings (its best), install(url), producer(url, settings of its jobs), worker(url,
// settings with a handler), counts (SQL: finished, waiting), keepsHistory, canKey; adapter, what bench/adapter needs of it.
const MODULES = {
  tock: async () => (await import('./tock.mjs')).tock,
  graphile: async () => (await import('./graphile.mjs')).graphile,
  boss: async () => (await import('./boss.mjs')).boss,
  bull: async () => (await import('./bull.mjs')).bull,
  // Tock of another commit, in the measure `gate` only.
  base: async () => await (await import('./tock.mjs')).tockFrom(process.env.TOCK_BENCH_BASE),
  // In the measure `latency` only.
  bare: async () => (await import('./bare.mjs')).bare,
  // Those of the measure `relay`: with `parts`, the processes that it takes, and `observe(url)`.
  'tock-rabbitmq': async () => (await import('./relayed.mjs')).overRabbit,
  'tock-nats': async () => (await import('./relayed.mjs')).overNats,
  'bull-redis': async () => (await import('./bull.mjs')).bullOnRedis,
  nats: async () => (await import('./nats.mjs')).nats,
  // That of the measure `standby`.
  'tock-patched': async () => (await import('./patched.mjs')).patched,
};

export const CONTESTANTS = Object.keys(MODULES);

export async function contestant(id) {
  return await MODULES[id]();
}
