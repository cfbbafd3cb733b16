// The jobs of the daemons that are asked for nothing any more. Each does nothing for as long as its payload says.
import { type AnyJob, defineJob } from '../../../src/index.js';

export interface Load {
  readonly ms: number;
  readonly tenant?: number;
}

const retry = { maxAttempts: 50, base: '300ms', max: '1s' } as const;
const work = async ({ signal }: { readonly signal: AbortSignal }, { ms }: Load) => {
  await new Promise<void>(resolve => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  signal.throwIfAborted();
};
const tenant = ({ tenant = 0 }: Load) => tenant;

/** What each version of the code has. */
export const OLDER: readonly AnyJob[] = [
  defineJob({ name: 'plain', retry, run: work }),
  defineJob({ name: 'alone', retry, concurrency: { limit: 1, key: tenant }, run: work }),
  defineJob({ name: 'paired', retry, concurrency: { limit: 2 }, run: work }),
];
/** What the newer one has too. */
export const NEWER: readonly AnyJob[] = [
  ...OLDER,
  defineJob({ name: 'new', retry, run: work }),
  defineJob({ name: 'new-alone', retry, concurrency: { limit: 1, key: tenant }, run: work }),
];
