// Where the one box for everything leads: to a run, or to a list.
import type { Session } from '../../answers/reads.js';
import { readNamed } from '../../answers/runs/lists.js';
import type { Query } from '../view.js';

/** A path and its query. */
export async function find(session: Session, text: string): Promise<[string, Query]> {
  const word = text.replaceAll('\0', '').toWellFormed().slice(0, 512);
  if (word === '') return ['/runs', {}];
  const id = /^#?(\d{1,18})$/.exec(word.replaceAll(/[\s\u202F]/g, ''))?.[1];
  if (id !== undefined) return [`/runs/${id}`, {}];
  const { definition, job, keyRunId, isLiveKey } = await readNamed(session, word);
  // Several definitions may share a job: its name finds the runs of all of them.
  if (job !== null) return ['/runs', { job }];
  if (definition !== null) return ['/runs', { definition }];
  if (isLiveKey) return ['/runs', { key: word }];
  if (keyRunId !== null) return [`/runs/${keyRunId}`, {}];
  return ['/runs', { error: word }];
}
