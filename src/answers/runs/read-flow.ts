// A flow, read at once by the id of any of its runs.
import { TockError } from '../../model/errors.js';
import { isRunId } from '../../model/flow/check-flow.js';
import { columnsOf, criticalPathOf, type FlowRecord } from '../../model/flow/flow-record.js';
import { quote } from '../../model/names.js';
import type { Session } from '../../store/connection/database.js';
import { readFlowRows } from '../../store/reads/runs/flow.js';

const MAX_RUNS = 300;
const dateOf = (ms: number | null) => (ms === null ? null : new Date(ms));

/** Null: the run is of no flow, or there is none. @throws TockError TOCK_BAD_OPTION */
export async function readFlow(session: Session, id: string): Promise<FlowRecord | null> {
  if (!isRunId(id)) throw new TockError('TOCK_BAD_OPTION', `${quote(id)} is no id of a run`);
  const rows = await readFlowRows.run(session, { run: id, limit: MAX_RUNS + 1 });
  if (rows.length < 2) return null;
  const shown = rows
    .slice(0, MAX_RUNS)
    .map(row => ({ ...row, startedAt: dateOf(row.startedAt), endedAt: dateOf(row.endedAt) }));
  return {
    runs: columnsOf(shown).flat(),
    isCut: rows.length > MAX_RUNS,
    criticalPath: criticalPathOf(shown),
  };
}
