// Names that people look for: jobs, definitions, keys.
import type { Session } from '../../connection/database.js';
import { db, firstRow, runQuery } from '../../connection/query.js';

const MAX_NAMES = 300;

/** The jobs that have definitions, sorted; the first 300. */
export async function readJobNames(session: Session): Promise<string[]> {
  const query = db
    .selectFrom('tock.job_definitions')
    .select('job')
    .distinct()
    .where('vanished_at', 'is', null)
    .orderBy('job')
    .limit(MAX_NAMES);
  return (await runQuery(session, query)).map(({ job }) => job);
}

/** What a word is: a definition's name, a job's name, an idempotency key; each null if it is none. */
export interface Named {
  readonly definition: string | null;
  readonly job: string | null;
  /** The run that has used it as its key. */
  readonly keyRunId: string | null;
  /** A live run has it as its key. */
  readonly isLiveKey: boolean;
}

export async function readNamed(session: Session, word: string): Promise<Named> {
  const definition = await firstRow(
    session,
    db.selectFrom('tock.job_definitions').select(['name', 'job']).where('name', '=', word),
  );
  const job = await firstRow(
    session,
    db.selectFrom('tock.job_definitions').select('job').where('job', '=', word).limit(1),
  );
  const key = await firstRow(
    session,
    db.selectFrom('tock.job_keys').select('run_id').where('idempotency_key', '=', word),
  );
  const live = await firstRow(
    session,
    db.selectFrom('tock.job_runs_live').select('id').where('live_key', '=', word),
  );
  return {
    definition: definition?.name ?? null,
    job: job?.job ?? null,
    keyRunId: key?.run_id ?? null,
    isLiveKey: live !== undefined,
  };
}
