// The CronJobs that a document of YAML or JSON holds.
import { isObject, objectOf, textOf, type Values } from '../elsewhere/values.js';

/** A CronJob of a manifest. */
export interface CronJobManifest {
  readonly name: string;
  /** Null: the one that kubectl is set to. */
  readonly namespace: string | null;
  readonly spec: Values;
}

/** What a document holds: its CronJobs, also those in lists, and the kinds of all else. */
export function cronJobsIn(document: unknown): { cronJobs: CronJobManifest[]; others: string[] } {
  const cronJobs: CronJobManifest[] = [];
  const others: string[] = [];
  const visit = (value: unknown): void => {
    if (!isObject(value)) return;
    const kind = textOf(value['kind']);
    if (kind === 'CronJob') {
      const metadata = objectOf(value['metadata']);
      const name = textOf(metadata['name']) ?? textOf(metadata['generateName']) ?? 'unnamed';
      cronJobs.push({ name, namespace: textOf(metadata['namespace']), spec: objectOf(value['spec']) });
    } else if (Array.isArray(value['items'])) for (const item of value['items']) visit(item);
    else if (kind !== null) others.push(kind);
  };
  visit(document);
  return { cronJobs, others };
}
