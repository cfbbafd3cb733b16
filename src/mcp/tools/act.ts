// What the role operate may do with runs: run now, retry, cancel. One run at once; many after a dry run.
import { TockError } from '../../model/errors.js';
import type { Json } from '../../model/job/job.js';
import { cappedText, MAX_COUNTED, type RunMatch } from '../../model/run/match/run-match.js';
import type { ManyResult } from '../../model/run/run-methods.js';
import type { RunStatus } from '../../model/run/states.js';
import { isConfirmed, proposed, upToOf } from '../confirm.js';
import { type Agent, type Answer, type Tool, takes, text, whole } from '../tool.js';
import { FILTER, runLine } from './lists.js';

/** Of what would be changed, so many runs are named. */
const NAMED = 5;

interface RunNowArgs {
  readonly job: string;
  readonly payload?: Json;
  readonly key?: string;
  readonly delay?: string;
  readonly queue?: string;
}

export const runNow: Tool<RunNowArgs> = {
  name: 'run_now',
  title: 'Enqueue one run of a job',
  role: 'operate',
  description:
    'Enqueues one run; a worker executes it. With a key that was used before nothing new is made: give one, so that a repeated call does not run it twice.',
  input: takes(
    {
      job: text('name of the job'),
      payload: { description: 'JSON, as the job expects it; default {}' },
      key: text('idempotency key: at most one run for each, ever'),
      delay: text('start after this time, such as 5m; default now', 20),
      queue: text('in place of the job’s own queue'),
    },
    ['job'],
  ),
  call: async ({ tock }, { job, payload = {}, key, delay, queue }) => {
    const { id, isNew } = await tock.enqueue(job, payload, {
      details: true,
      ...(key === undefined ? {} : { key }),
      ...(delay === undefined ? {} : { delay }),
      ...(queue === undefined ? {} : { queue }),
    });
    const run = await tock.runs.get(id);
    const what = isNew ? 'enqueued' : 'not enqueued again: the key was used before, by';
    return { lines: [`${what} ${run === null ? `run ${id}` : runLine(run)}`] };
  },
};

interface ManyArgs extends Omit<RunMatch, 'status'> {
  readonly status?: readonly RunStatus[];
  readonly run?: string;
  readonly limit?: number;
  readonly confirm?: string;
}

const MANY = {
  run: text('id of one run; or leave it out and give a filter', 20),
  ...FILTER,
  limit: whole('with a filter: at most so many, the oldest first', 1, MAX_COUNTED),
  confirm: text('with a filter: the token that the dry run answered', 40),
} as const;

interface RetryArgs extends ManyArgs {
  readonly rate?: { readonly count: number; readonly per: string };
}

/** `{ count: 5, per: '1s' }`. */
export const RATE = {
  type: 'object',
  properties: { count: { type: 'integer', minimum: 1 }, per: { type: 'string' } },
  required: ['count', 'per'],
  additionalProperties: false,
} as const;

export const retry: Tool<RetryArgs> = {
  name: 'retry',
  title: 'Put dead or cancelled runs back into the queue',
  role: 'operate',
  description:
    'Retries one run by its id at once; or all that match a filter (dead ones, unless status says otherwise): the first call is a dry run that answers how many, and a token to confirm it with.',
  input: takes({
    ...MANY,
    rate: {
      ...RATE,
      description: 'with a filter: start so many per period, such as { count: 5, per: "1s" }',
    },
  }),
  call: async (agent, { rate, ...args }) => {
    if (args.run !== undefined)
      return { lines: [`retried ${runLine(await agent.tock.runs.retry(only(args)))}`] };
    const pace = rate === undefined ? {} : { rate };
    return await onMany(agent, 'retry', { ...args, ...pace }, args.status ?? ['dead'], (match, options) =>
      agent.tock.runs.retryMany(match, { ...options, ...pace }),
    );
  },
};

interface EditPayloadArgs {
  readonly run: string;
  readonly payload: Json;
}

export const editPayload: Tool<EditPayloadArgs> = {
  name: 'edit_payload',
  title: 'Give a run another payload',
  role: 'operate',
  isDestructive: true,
  description:
    'Replaces the whole payload of a run that waits, or is dead or cancelled, which is retried with it. Only where payloads are shown; the job’s schema checks it.',
  input: takes(
    {
      run: text('id of the run', 20),
      payload: { description: 'JSON, as the job expects it: all of it, not only what changes' },
    },
    ['run', 'payload'],
  ),
  call: async ({ tock }, { run, payload }) => ({
    lines: [`edited ${runLine(await tock.runs.edit(run, { payload }))}`],
  }),
};

interface CancelArgs extends ManyArgs {
  readonly reason?: string;
}

export const cancel: Tool<CancelArgs> = {
  name: 'cancel',
  title: 'Cancel runs',
  role: 'operate',
  isDestructive: true,
  description:
    'Cancels one run by its id at once (a running one is asked to stop); or all that match a filter (waiting ones, unless status says otherwise): the first call is a dry run that answers how many, and a token to confirm it with.',
  input: takes({ ...MANY, reason: text('why; kept with each run') }),
  call: async (agent, { reason, ...args }) => {
    const why = reason === undefined ? {} : { reason };
    if (args.run !== undefined) {
      const run = await agent.tock.runs.cancel(only(args), why);
      return { lines: [`${run.status === 'running' ? 'asked to stop' : 'cancelled'} ${runLine(run)}`] };
    }
    return await onMany(
      agent,
      'cancel',
      { ...args, ...why },
      args.status ?? ['queued', 'failed'],
      (match, options) => agent.tock.runs.cancelMany(match, { ...options, ...why }),
    );
  },
};

/** One run, and nothing that chooses others. */
function only({ run = '', ...others }: ManyArgs): string {
  if (Object.keys(others).length === 0) return run;
  throw bad('give the id of one run, or a filter, not both');
}

type Act = (
  match: RunMatch,
  options: { readonly limit?: number; readonly dryRun?: boolean; readonly upTo?: string },
) => Promise<ManyResult>;

async function onMany(
  agent: Agent,
  tool: 'retry' | 'cancel',
  args: ManyArgs,
  status: readonly RunStatus[],
  act: Act,
): Promise<Answer> {
  const filter = Object.fromEntries(
    Object.keys(FILTER).flatMap(name => {
      const value = args[name as keyof typeof FILTER];
      return value === undefined ? [] : [[name, value]];
    }),
  ) as RunMatch;
  if (Object.keys(filter).length === 0)
    throw bad(`name a run, or a filter: ${Object.keys(FILTER).join(', ')}`);
  const match: RunMatch = { ...filter, status };
  const { limit } = args;
  const asked = upToOf(args.confirm);
  const { matched, pausedQueues, upTo } = await act(match, {
    dryRun: true,
    ...(asked === undefined ? {} : { upTo: asked }),
  });
  // A token that does not hold says nothing of which runs are meant.
  if (asked !== undefined && !isConfirmed({ tool, args, found: matched, upTo }))
    return await onMany(agent, tool, { ...args, confirm: '' }, status, act);
  if (matched === 0) return { lines: [`no ${status.join(' or ')} runs match: nothing to ${tool}`] };
  const count = Math.min(matched, limit ?? matched);
  if (count > MAX_COUNTED)
    return {
      lines: [`more than ${MAX_COUNTED} ${status.join(' or ')} runs match: nothing has been changed`],
      next: `Narrow the filter, or give a limit of at most ${MAX_COUNTED}.`,
    };
  const some = await agent.tock.runs.list({ ...match, limit: NAMED });
  const proposal = proposed({
    tool,
    args,
    found: matched,
    upTo,
    lines: [
      `${tool} would change ${count} of ${cappedText(matched)} ${status.join(' or ')} runs that match`,
      ...pausedQueues.map(
        ({ queue, runs }) => `${cappedText(runs)} of them wait in the queue ${queue}, which is paused`,
      ),
      `the newest ${some.length} that match:`,
      ...some.map(runLine),
    ],
  });
  if (proposal !== null) return proposal;
  const result = await act(match, { limit: count, upTo });
  return {
    lines: [
      `${tool}: ${Object.entries(result.done)
        .map(([state, number]) => `${number} are ${state} now`)
        .join(', ')}${result.passed === 0 ? '' : `; ${result.passed} had changed meanwhile`}`,
      ...result.failed.slice(0, NAMED).map(({ id, message }) => `run ${id} could not be changed: ${message}`),
    ],
  };
}

const bad = (message: string) => new TockError('TOCK_BAD_OPTION', message);
