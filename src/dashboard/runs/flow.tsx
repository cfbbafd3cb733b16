// A flow on the page of each of its runs: what comes after what, and what decides when it ends.
import { type FlowRecord, flowNameOf } from '../../model/flow/flow-record.js';
import { Sheet } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import { FlowGraph } from '../pictures/flow-graph.js';
import type { View } from '../view.js';

export interface FlowProps {
  readonly view: View;
  readonly flow: FlowRecord;
  /** The run whose page it is. */
  readonly current: string;
}

const MAX_NAMED = 12;

export function FlowSection({ view, flow, current }: FlowProps) {
  const byId = new Map(flow.runs.map(run => [run.id, run]));
  const ended = flow.runs.filter(({ endedAt, status }) => endedAt !== null || status === 'pruned').length;
  const named = flow.criticalPath.slice(-MAX_NAMED);
  return (
    <section class="group" aria-label="Flow">
      <h2>
        Flow{' '}
        <small>
          {ended.toLocaleString('en')} of {flow.runs.length.toLocaleString('en')} runs have ended
        </small>
      </h2>
      <Sheet>
        <FlowGraph flow={flow} current={current} href={id => view.link(`/runs/${id}`)} now={view.now} />
        {flow.isCut ? <p class="faint">It has more runs, which are not drawn.</p> : null}
        <p class="flow-path">
          <span class="muted">Critical path</span> {named.length < flow.criticalPath.length ? '… → ' : ''}
          {named.map((id, place) => {
            const run = byId.get(id);
            return (
              <>
                {place === 0 ? '' : ' → '}
                <a href={view.link(`/runs/${id}`)}>{plainLine(run ? flowNameOf(run) : id, 60)}</a>
              </>
            );
          })}
        </p>
      </Sheet>
    </section>
  );
}
