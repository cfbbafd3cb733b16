// The job module of the stories. Bundled by esbuild, and named in TOCK_JOBS.
// What a handler does depends on its run and attempt alone, so that a seed tells the whole story.
import { type AnyJob, defineJob, type HandOff, type JobContext, typeOnly } from '../../src/index.js';
import { lot } from './lot.js';
import { beget, hear, join, sharedJobs } from './shared-jobs.js';

interface Tables {
  begun: { fence: number };
  let_go: { until: number };
}

const pause = (ctx: JobContext) =>
  new Promise(resolve => setTimeout(resolve, lot(ctx, 1) < 0.1 ? 1500 : lot(ctx, 2) * 60));

async function mayFail(ctx: JobContext): Promise<void> {
  await pause(ctx);
  if (lot(ctx, 3) < 0.25) throw new Error(`attempt ${ctx.attempt} fails by lot`);
}

/** Far from the fences of the first gates. */
const LAST_GATE = 100;

const HANDOFF_LEASE_MS = 20_000;
const retry = { maxAttempts: 5, backoff: 'fixed', base: '500ms', jitter: 0.2 } as const;

const minutely = defineJob({
  name: 'minutely',
  schedule: { cron: '* * * * *', catchup: 'all', overlap: 'allow_all' },
  retry,
  run: mayFail,
});
const latest = defineJob({
  name: 'latest',
  schedule: { cron: '*/2 * * * *', catchup: 'latest' },
  retry,
  run: mayFail,
});
const sevenths = defineJob({
  name: 'sevenths',
  schedule: { every: '7s', catchup: 'all', overlap: 'allow_all' },
  retry,
  run: mayFail,
});
/** Each run closes its key for the next, and for long enough that others come meanwhile on a busy machine. */
const closes = defineJob({
  name: 'closes',
  retry,
  payload: typeOnly<{ key: string }>(),
  fair: { key: '$.key' },
  run: async ctx => void (await ctx.closeUntil('10s')),
});

/** Takes longer than a lease. */
const slow = defineJob({
  name: 'slow',
  retry,
  run: ctx =>
    new Promise((resolve, reject) => {
      setTimeout(resolve, 3000);
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason));
    }),
});

/** Says that the attempt has come to a gate, and waits until a story lets it go on, whatever its signal says. */
async function gate(ctx: JobContext, at = 0): Promise<void> {
  const until = ctx.fence + at;
  await ctx.db.withTables<Tables>().insertInto('begun').values({ fence: until }).execute();
  const mayGo = () =>
    ctx.db
      .withTables<Tables>()
      .selectFrom('let_go')
      .select('until')
      .where('until', '>=', until)
      .executeTakeFirst();
  while (!(await mayGo())) await new Promise(resolve => setTimeout(resolve, 50));
}

/** Is handed off when a story lets it. */
const handedLate = defineJob({
  name: 'handed-late',
  retry,
  async run(ctx): Promise<HandOff> {
    await gate(ctx);
    return ctx.handOff({ lease: HANDOFF_LEASE_MS });
  },
});
/** A gate before its wait, and one between that and the end of the attempt. */
const hearsLate = defineJob({
  name: 'hears-late',
  retry,
  async run(ctx) {
    await gate(ctx);
    try {
      await hear(ctx, 'late');
    } finally {
      await gate(ctx, LAST_GATE);
    }
  },
});
/** A gate before it makes its children, and one before it waits for them. */
const parentLate = defineJob({
  name: 'parent-late',
  retry,
  async run(ctx) {
    await gate(ctx);
    const ids = await beget(ctx);
    await gate(ctx, LAST_GATE);
    await join(ctx, ids);
  },
});

const ways = { retry, pause, work: mayFail, failing: 0.3, handOffLease: HANDOFF_LEASE_MS };
/** Stories wait for its first attempt, which must not fail. */
const { handed } = sharedJobs({ ...ways, work: async ctx => void (await pause(ctx)) });

export const jobs: AnyJob[] = [
  minutely,
  latest,
  sevenths,
  closes,
  slow,
  handedLate,
  hearsLate,
  parentLate,
  ...Object.values({ ...sharedJobs(ways), handed }),
];
