// Calls the app's hooks, which observe runs and cannot change them. The error of a hook is logged.
import type { HookRun, Hooks } from '../../model/job/hooks.js';
import type { Outcome } from '../../model/run/decide.js';
import type { Trigger } from '../../model/run/states.js';
import { getRun } from '../../store/reads/runs.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import type { Engine } from '../engine.js';

type EndedRun = Pick<
  ClaimedRun,
  'id' | 'job' | 'definition' | 'attempts' | 'max_attempts' | 'scheduled_for' | 'trigger'
>;

export function notifyStart(engine: Engine, run: ClaimedRun): void {
  call(engine, 'onStart', run.id, hook => hook(hookRun(run)));
}

export function notifyOutcome(engine: Engine, run: EndedRun, outcome: Outcome, durationMs: number): void {
  const { transition, output, error, delayMs } = outcome;
  if (transition === 'succeed')
    call(engine, 'onSuccess', run.id, hook => hook(hookRun(run), { output, durationMs }));
  if (transition === 'fail' && error)
    call(engine, 'onFailure', run.id, hook => hook(hookRun(run), { error, retryInMs: delayMs }));
  if (transition === 'exhaust' && error)
    call(engine, 'onDead', run.id, hook => hook(hookRun(run), { error }));
}

/** For runs that ended dead without a handler in this process: reaped or set aside. */
export async function notifyDead(engine: Engine, ids: readonly string[]): Promise<void> {
  if (!engine.hooks.onDead) return;
  for (const id of ids) {
    const run = await getRun(engine.database, id);
    const error = run?.errors.at(-1);
    if (!run || !error) continue;
    const { job, definition, attempts: attempt, maxAttempts, scheduledFor, trigger } = run;
    const deadRun: HookRun = { id, job, definition, attempt, maxAttempts, scheduledFor, trigger };
    call(engine, 'onDead', id, hook => hook(deadRun, { error }));
  }
}

function call<Name extends keyof Hooks>(
  engine: Engine,
  name: Name,
  runId: string,
  work: (hook: NonNullable<Hooks[Name]>) => unknown,
): void {
  const hook = engine.hooks[name];
  if (!hook) return;
  const failed = (error: unknown) =>
    engine.logger.error(
      { event: 'hook.failed', hook: name, run_id: runId, error: String(error) },
      `the hook ${name} failed; the run is not affected`,
    );
  // In a promise, so that a hook that throws at once ends like one that rejects.
  void Promise.resolve()
    .then(() => work(hook.bind(engine.hooks) as NonNullable<Hooks[Name]>))
    .catch(failed);
}

function hookRun(run: EndedRun): HookRun {
  return {
    id: run.id,
    job: run.job,
    definition: run.definition,
    attempt: run.attempts,
    maxAttempts: run.max_attempts,
    scheduledFor: run.scheduled_for === null ? null : new Date(run.scheduled_for),
    trigger: run.trigger as Trigger,
  };
}
