// The code by which imported definitions call graphile-worker's own tasks, with helpers like those of there.
import { toCamelCase } from '../code/camel-case.js';
import { type CodeHead, literal } from '../code/job-code.js';

/** A task that has a file. */
export interface TaskFile {
  readonly task: string;
  /** As the module imports it: `../tasks/send_digest.js`. */
  readonly specifier: string;
}

export interface TaskCode {
  /** The code of a handler, by the task. */
  readonly handlers: ReadonlyMap<string, string>;
  readonly imports: readonly string[];
  readonly functions: readonly string[];
  readonly taken: ReadonlySet<string>;
}

const CALL = `/** The parts of graphile-worker's helpers that a run has. What is not there is an error that names it. */
function helpersOf(ctx: JobContext, payload: object) {
  const write = (level: 'error' | 'warn' | 'info' | 'debug') => (message: string, meta?: object) =>
    ctx.log[level]({ ...meta }, message);
  const query = async (text: string, values: readonly unknown[] = []) =>
    await ctx.db.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text, [...values]));
  const helpers = {
    logger: { error: write('error'), warn: write('warn'), info: write('info'), debug: write('debug') },
    query,
    withPgClient: async <T>(work: (client: { query: typeof query }) => Promise<T>) => await work({ query }),
    abortSignal: ctx.signal,
    job: {
      id: ctx.runId,
      task_identifier: ctx.job,
      payload,
      attempts: ctx.attempt,
      max_attempts: ctx.maxAttempts,
      run_at: ctx.scheduledFor,
      key: ctx.idempotencyKey,
    },
  };
  return new Proxy(helpers, {
    get(target, name) {
      if (name in target || name === 'then' || typeof name === 'symbol') return Reflect.get(target, name);
      throw new Dead(\`helpers.\${name} is not there under Tock; see docs/coming-from/graphile-worker.md\`);
    },
  });
}

/** Calls a task as graphile-worker does, with the instant of the occurrence in _cron. */
// oxlint-disable-next-line typescript/no-explicit-any
const call = (task: any) => async (ctx: JobContext, data: unknown) => {
  // What was compiled to CommonJS has its function in default.
  const run = typeof task === 'function' ? task : task.default;
  const _cron = { ts: ctx.scheduledFor?.toISOString(), backfilled: ctx.trigger === 'backfill' };
  const payload = { ...(data as object), _cron };
  await run(payload, helpersOf(ctx, payload));
};`;

const RETRY = `/** As graphile-worker: e, e², … seconds, at most e¹⁰. */
const retry = (maxAttempts: number) => ({
  maxAttempts,
  backoff: (attempt: number) => Math.round(Math.exp(Math.min(10, attempt)) * 1000),
  max: '7h',
});`;

/** The handlers of tasks that have a file. */
export function callTasks(files: readonly TaskFile[]): TaskCode {
  const taken = new Set(['retry', 'call', 'helpersOf', 'CompiledQuery']);
  const handlers = new Map<string, string>();
  const imports: string[] = [];
  for (const { task, specifier } of files) {
    const name = toCamelCase(`${task} task`, taken);
    taken.add(name);
    handlers.set(task, `call(${name})`);
    imports.push(`import ${name} from ${literal(specifier)};`);
  }
  return { handlers, imports, functions: files.length === 0 ? [] : [CALL], taken };
}

/** What the module needs before its definitions. @param waiting functions of handlers without a file */
export function graphileHead(
  code: TaskCode,
  waiting: { readonly functions: readonly string[]; readonly names: ReadonlyMap<string, string> },
): CodeHead {
  const calls = code.functions.length > 0;
  return {
    imports: [...(calls ? ["import { CompiledQuery } from 'kysely';"] : []), ...code.imports],
    names: ['Dead', 'type JobContext'],
    functions: [RETRY, ...code.functions, ...waiting.functions],
    taken: new Set([...code.taken, ...waiting.names.values()]),
  };
}
