// A flow as text: its runs, parents first, and the critical path.
import { formatSpan } from '../../model/duration.js';
import { type FlowRecord, flowNameOf } from '../../model/flow/flow-record.js';
import { cleanLine, paint } from '../terminal.js';
import { drawTable } from './table.js';

const MAX_NAMED = 4;

export async function flowText(flow: FlowRecord): Promise<string> {
  const byId = new Map(flow.runs.map(run => [run.id, run]));
  const nameOf = (id: string) => {
    const run = byId.get(id);
    return run === undefined ? `run ${id}` : cleanLine(flowNameOf(run));
  };
  const critical = new Set(flow.criticalPath);
  const ended = flow.runs.filter(({ endedAt, status }) => endedAt !== null || status === 'pruned').length;
  const table = await drawTable(
    [
      { title: 'RUN', align: 'right' },
      { title: 'NAME', flexible: true },
      { title: 'STATUS' },
      { title: 'TOOK', align: 'right' },
      { title: 'AFTER', flexible: true },
    ],
    flow.runs.map(({ id, status, startedAt, endedAt, after }) => [
      critical.has(id) ? `* ${id}` : id,
      nameOf(id),
      status,
      startedAt === null || endedAt === null ? '' : formatSpan(Math.max(0, +endedAt - +startedAt)),
      `${after.slice(0, MAX_NAMED).map(nameOf).join(', ')}${after.length > MAX_NAMED ? ` and ${after.length - MAX_NAMED} more` : ''}`,
    ]),
  );
  return [
    `${paint('bold', 'Flow')}  ${ended.toLocaleString('en')} of ${flow.runs.length.toLocaleString('en')} runs have ended${flow.isCut ? '; it has more, which are not listed' : ''}`,
    table,
    `* critical path: ${flow.criticalPath.map(nameOf).join(' → ')}`,
  ].join('\n');
}
