// Handlers that wait for code: they fail, and say what to move where, until the code is there.
import { toCamelCase } from './camel-case.js';
import { literal } from './job-code.js';

/** The functions of handlers, one for each task, by the task's name. */
export interface Handlers {
  readonly names: ReadonlyMap<string, string>;
  readonly functions: readonly string[];
}

/**
 * @param tasks what is executed: names of queues, or of tasks
 * @param originOf where the code of a task is today: `boss.work('mail', …)`
 */
export function handlersOf(tasks: Iterable<string>, originOf: (task: string) => string): Handlers {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const task of new Set(tasks)) {
    const name = toCamelCase(`run ${task}`, taken);
    taken.add(name);
    names.set(task, name);
  }
  const functions = [...names].map(([task, name]) => {
    const origin = originOf(task);
    const message = `the code of ${task} is not here yet: move what ${origin} does into ${name}, then tock retry this run`;
    return [
      `/** Move here what ${origin.replaceAll('*/', '* /')} does. Until then each run is dead, and can be retried. */`,
      `async function ${name}(_ctx: JobContext, _data: unknown): Promise<void> {`,
      `  throw new Dead(${literal(message)});`,
      '}',
    ].join('\n');
  });
  return { names, functions };
}
