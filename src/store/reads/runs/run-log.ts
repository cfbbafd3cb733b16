// The log of a run, as people see it.
import type { AttemptLog, KeptLine } from '../../../model/run/log/attempt-log.js';
import { readLine } from '../../../model/run/log/log-line.js';
import type { Session } from '../../connection/database.js';
import { db, readableInstant, runQuery } from '../../connection/query.js';

/** The earliest attempt first. Reads at most what an attempt may keep of each. */
export async function readLog(session: Session, runId: string, attempt?: number): Promise<AttemptLog[]> {
  if (!/^\d{1,18}$/.test(runId)) return [];
  const query = db
    .selectFrom('tock.job_logs as k')
    .select([
      'k.attempt',
      'k.fence',
      'k.head',
      'k.tail',
      'k.cut_lines as cutLines',
      'k.cut_bytes as cutBytes',
    ])
    .select(eb => readableInstant(eb.ref('k.began_at')).as('beganAt'))
    .where('k.run_id', '=', runId)
    .$if(attempt !== undefined, each => each.where('k.attempt', '=', attempt ?? 0))
    .orderBy('k.fence')
    .orderBy('k.segment');
  const logs = new Map<number, AttemptLog>();
  // Where an attempt has two rows, the later one has all of the earlier: see store/runs/logs/write-logs.ts.
  for (const { beganAt, head, tail, cutLines, cutBytes, ...row } of await runQuery(session, query)) {
    const [first, last] = [linesOf(head, beganAt), linesOf(tail, beganAt)];
    logs.set(row.fence, {
      ...row,
      lines: [...first, ...last],
      cutBytes: Number(cutBytes),
      cutLines: Number(cutLines),
      cutAfter: first.length,
    });
  }
  return [...logs.values()];
}

function linesOf(text: string, beganAt: Date): KeptLine[] {
  return text.split('\n').flatMap(line => {
    if (line === '') return [];
    const { ms, ...rest } = readLine(line);
    return [{ at: new Date(beganAt.getTime() + ms), ...rest }];
  });
}
