// A queue that is behind: rates, its length as a picture, and when it will be empty.
import { FLOW_ASSUMPTION, flowWords, perText, type QueueFlow } from '../../../model/explain/queue-flow.js';
import { Sheet } from '../../layout/parts.js';
import { numberText, shortTime } from '../../layout/text.js';
import { Sparkline } from '../../pictures/sparkline.js';
import type { View } from '../../view.js';

interface FlowProps {
  readonly view: View;
  readonly flow: QueueFlow;
  /** Whether its runs start now. */
  readonly moves: boolean;
}

export function Flow({ view, flow, moves }: FlowProps) {
  const { span, depths, inPerMinute, outPerMinute } = flow;
  const times = depths.map((_, part) =>
    shortTime(new Date(span.from + (part + 1) * span.partMs), view.zone, view.now),
  );
  const words = flowWords(flow, moves);
  return (
    <>
      <h2>
        How it fell behind <small>{numberText(Math.max(...depths))} waiting at most</small>
      </h2>
      <Sheet>
        <p>
          <b>
            {words.charAt(0).toUpperCase()}
            {words.slice(1)}.
          </b>
        </p>
        <Sparkline counts={depths} what="waiting runs" times={times} look="retry" width={1000} height={72} />
        <div class="over-time-ends">
          <span>{shortTime(new Date(span.from), view.zone, view.now)}</span>
          <span>
            in {perText(inPerMinute)}, out {perText(outPerMinute)}
          </span>
          <span>now</span>
        </div>
        {moves ? <p class="faint">{FLOW_ASSUMPTION}</p> : null}
      </Sheet>
    </>
  );
}
