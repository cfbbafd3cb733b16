// The figures of the page Now: each is a way to the runs that it counts.

import type { Child } from 'hono/jsx';
import { MAX_COUNT } from '../../answers/now/figures.js';
import { formatSpan } from '../../model/duration.js';
import { MAX_COUNTED } from '../../model/run/match/run-match.js';
import { numberText, relativeText } from '../layout/text.js';
import type { View } from '../view.js';
import type { NowContent } from './read-now.js';

export function FiguresRow({ view, content }: { readonly view: View; readonly content: NowContent }) {
  const { live, outcomes } = content;
  const day = outcomes.total;
  const ended = day.succeeded + day.dead + day.cancelled;
  const { dead } = view.frame;
  return (
    <div class="figures">
      <Figure
        view={view}
        name="Waiting"
        value={numberText(live.waiting, MAX_COUNT)}
        query={{ status: 'queued' }}
      >
        {live.oldestDue === null
          ? live.scheduled > 0
            ? `${numberText(live.scheduled, MAX_COUNT)} for later`
            : 'nothing is due'
          : `oldest ${formatSpan(Math.max(0, view.now.getTime() - live.oldestDue.getTime()))}`}
      </Figure>
      <Figure view={view} name="Running" value={numberText(live.running)} query={{ status: 'running' }}>
        {live.workers === 0 ? 'no worker now' : `of ${numberText(live.capacity)} places`}
      </Figure>
      <Figure
        view={view}
        name="Retrying"
        value={numberText(live.retrying, MAX_COUNT)}
        query={{ status: 'failed' }}
      >
        {live.nextRetry === null ? 'none' : `next ${relativeText(live.nextRetry, view.now)}`}
      </Figure>
      <Figure
        view={view}
        name="Dead, 24 h"
        value={numberText(dead, MAX_COUNTED)}
        query={{ status: 'dead', from: '24h' }}
        isBad={dead > 0}
      >
        {dead === 0 ? 'none' : 'failed for good'}
      </Figure>
      <Figure
        view={view}
        name="Ended, 24 h"
        value={numberText(ended)}
        query={{ status: 'succeeded', from: '24h' }}
      >
        {ended === 0 ? 'none yet' : `${percent(day.succeeded, day.succeeded + day.dead)} succeeded`}
      </Figure>
      <Figure
        view={view}
        name="Skipped, 24 h"
        value={numberText(day.skipped)}
        query={{ status: 'skipped', from: '24h' }}
      >
        {day.skipped === 0 ? 'none' : 'each with its reason'}
      </Figure>
    </div>
  );
}

interface FigureProps {
  readonly view: View;
  readonly name: string;
  readonly value: string;
  readonly query: Readonly<Record<string, string>>;
  readonly isBad?: boolean;
  readonly children?: Child;
}

function Figure({ view, name, value, query, isBad = false, children }: FigureProps) {
  const inside = (
    <>
      <span class="name">{name}</span>
      <span class={isBad ? 'value bad' : 'value'}>{value}</span>
      <small>{children}</small>
    </>
  );
  return view.pages.has('/runs') ? <a href={view.link('/runs', query)}>{inside}</a> : <div>{inside}</div>;
}

/** `99.98%`; `100%` only if there is nothing else. */
function percent(part: number, whole: number): string {
  if (whole === 0) return '–';
  if (part === whole) return '100%';
  return `${Math.min(99.99, (part / whole) * 100).toFixed(part / whole > 0.99 ? 2 : 0)}%`;
}
