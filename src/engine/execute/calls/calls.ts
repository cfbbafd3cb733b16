// The calls that a handler makes of its context. One that it does not await would go on after its run has
// ended, and its error would end the process; so each is known until it is done.
import type { Clock } from '../../../model/clock.js';
import { TockError } from '../../../model/errors.js';
import { quote } from '../../../model/names.js';
import { isWait } from '../../../model/run/snooze.js';

/** What a call of a context returns: a promise that knows whether somebody awaits it. */
class Call extends Promise<unknown> {
  /** What is called, such as `ctx.step`. */
  name = '';
  given: unknown;
  isAwaited = false;
  failure: { readonly error: unknown } | null = null;

  static override get [Symbol.species]() {
    return Promise;
  }

  // biome-ignore lint/suspicious/noThenProperty: this is a promise
  override then<Done = unknown, Failed = never>(
    onDone?: ((value: unknown) => Done | PromiseLike<Done>) | null,
    onFailed?: ((error: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Done | Failed> {
    this.isAwaited = true;
    return super.then(onDone, onFailed);
  }

  /** An error of a call that nobody awaits ends no process. */
  leave(): void {
    super.then(undefined, () => undefined);
  }

  /** For messages: `ctx.step "mail"`. */
  get what(): string {
    const { name, given } = this;
    const of = typeof given === 'object' && given !== null ? (given as { name?: unknown }).name : given;
    return typeof of === 'string' ? `${name} ${quote(of)}` : name;
  }
}

/** The calls of one handler, in the order in which it made them. */
export class Calls {
  /** Those that are not done: under way, or failed. Null: it has made none. */
  private open: Set<Call> | null = null;

  add(name: string, given: unknown, promise: Promise<unknown>): Promise<unknown> {
    const call = new Call((resolve, reject) => void promise.then(resolve, reject));
    call.name = name;
    call.given = given;
    call.leave();
    const open = (this.open ??= new Set());
    open.add(call);
    const end = () => open.delete(call);
    void promise.then(end, (error: unknown) => {
      if (call.isAwaited) end();
      call.failure = { error };
    });
    return call;
  }

  /** Under way, or failed without anybody who knows. */
  get left(): readonly Call[] {
    return this.open === null ? [] : [...this.open].filter(call => call.failure === null || !call.isAwaited);
  }

  /** Resolves when none is under way, after `ms` at the latest. */
  async ended(clock: Clock, ms: number): Promise<void> {
    await new Promise<void>(resolve => {
      const timer = clock.setTimeout(resolve, ms);
      const look = () => {
        const underWay = [...(this.open ?? [])].filter(({ failure }) => failure === null);
        if (underWay.length > 0) return void Promise.allSettled(underWay).then(look);
        clock.clear(timer);
        resolve();
      };
      look();
    });
  }
}

/** The members of a context whose members are calls too. */
const PARTS: ReadonlySet<unknown> = new Set(['runs', 'queues', 'scheduler', 'group']);

class Tracking implements ProxyHandler<object> {
  private readonly calls: Calls;
  private readonly name: string;

  constructor(calls: Calls, name: string) {
    this.calls = calls;
    this.name = name;
  }

  get(target: object, key: string | symbol): unknown {
    const member: unknown = Reflect.get(target, key);
    if (typeof key === 'symbol') return member;
    const name = `${this.name}.${key}`;
    if (PARTS.has(key)) return tracked(member as object, this.calls, name);
    if (typeof member !== 'function') return member;
    return (...given: readonly unknown[]): unknown => {
      const result: unknown = Reflect.apply(member, target, given);
      return result instanceof Promise ? this.calls.add(name, given[0], result) : result;
    };
  }
}

/** The same object; what its methods promise is kept among the calls. */
export function tracked<T extends object>(target: T, calls: Calls, name = 'ctx'): T {
  return new Proxy(target, new Tracking(calls, name)) as T;
}

/** An {@link Engine}, or what a consumer has of one. */
export interface HandlerTime {
  readonly clock: Clock;
  readonly settings: { readonly graceMs: number };
}

/**
 * Calls a handler. Where it returns and has left calls behind, waits until they have ended, for the grace at
 * most, and fails: nobody knows what became of them.
 * @throws what the handler throws; TockError TOCK_NOT_AWAITED
 */
export async function awaitHandler(
  { clock, settings }: HandlerTime,
  calls: Calls,
  handler: () => unknown,
): Promise<unknown> {
  const value = await handler();
  const { left } = calls;
  if (left.length === 0) return value;
  await calls.ended(clock, settings.graceMs);
  throw notAwaited(left);
}

function notAwaited(left: readonly Call[]): TockError {
  const [first = '', ...others] = left.map(({ what }) => what);
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  const failed = left.find(({ failure }) => failure !== null && !isWait(failure.error));
  return new TockError(
    'TOCK_NOT_AWAITED',
    `the handler returned without awaiting ${first}${more}: write await before each call of ctx, or await Promise.all([…]) where they go on side by side`,
    failed?.failure ? { cause: failed.failure.error } : undefined,
  );
}
