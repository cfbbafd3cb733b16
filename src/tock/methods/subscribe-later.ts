// A subscription to changes that opens its Tock when it is first read.
import type { ChangeMethods, ChangeSubscription, SubscribeOptions } from '../../model/changes/change.js';

const DONE = { done: true, value: undefined } as const;

/** Calls a method of the opened Tock. */
type Later = <Output>(
  method: (tock: { readonly changes: ChangeMethods }) => Promise<Output>,
) => () => Promise<Output>;

export function subscribeLater(later: Later, options: SubscribeOptions = {}): ChangeSubscription {
  let opened: ChangeSubscription | null = null;
  let isOver = false;
  const of = ({ changes }: { readonly changes: ChangeMethods }) => (opened ??= changes.subscribe(options));
  const next = later(async tock => (isOver ? DONE : await of(tock).next()));
  const subscription: ChangeSubscription = {
    get cursor() {
      return opened?.cursor ?? null;
    },
    begin: later(async tock => await of(tock).begin()),
    next: async () => (isOver ? DONE : await next()),
    return: async () => {
      isOver = true;
      await opened?.return();
      return DONE;
    },
    [Symbol.asyncIterator]: () => subscription,
  };
  return subscription;
}
