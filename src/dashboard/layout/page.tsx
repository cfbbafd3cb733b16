// The frame of every page.
import type { Child } from 'hono/jsx';
import { formatSpan } from '../../model/duration.js';
import type { View } from '../view.js';
import { Dialogs } from './dialogs.js';
import { Document } from './document.js';
import { FrozenBanner } from './frozen.js';
import { ENTRIES, Navigation, type PageName } from './navigation.js';
import { clockTime, longTime, placeOf } from './text.js';

export interface PageProps {
  readonly view: View;
  /** The heading and, before "· Tock", the browser's title. */
  readonly title: string;
  /** Null: none of the pages in the list. */
  readonly current: PageName | null;
  /** Beside the heading: a pill, buttons. */
  readonly aside?: Child;
  /** A sentence or two below the heading. */
  readonly lead?: Child;
  /**
   * The content is fetched again and merged into the page when there is something new, at most every so many
   * seconds; every so many where the stream that says so cannot be had. Absent: never.
   */
  readonly live?: number;
  /** What had been seen when the content was read. Default: when the request came. */
  readonly seen?: string;
  /** Something in it is older than what the reader has been told of: it is soon fetched again. */
  readonly isStale?: boolean;
  readonly children?: Child;
}

/** A whole document; answer it with `c.html(<Page …>…</Page>)`. */
export function Page({
  view,
  title,
  current,
  aside,
  lead,
  live,
  seen = view.frame.seen,
  isStale = false,
  children,
}: PageProps) {
  return (
    <Document
      title={title}
      assets={view.assets}
      base={view.link('/')}
      zone={view.zone}
      navigation={<Navigation view={view} current={current} />}
      flash={view.flash}
      dialogs={<Dialogs entries={ENTRIES.filter(({ path }) => view.pages.has(path))} />}
    >
      <main
        id="main"
        tabindex={-1}
        data-live={live}
        data-seen={live && seen}
        data-stale={isStale ? '' : undefined}
        data-now={live && view.now.getTime()}
      >
        <header class="page">
          <h1>{title}</h1>
          {current === 'now' ? <Clock view={view} /> : null}
          {aside}
        </header>
        <Behind lagMs={view.frame.replicaLagMs} />
        <FrozenBanner view={view} />
        {lead === undefined ? null : <p class="lead">{lead}</p>}
        {children}
      </main>
    </Document>
  );
}

/** A replica that is a little behind is normal; more than this should be noticed. */
const LATE_MS = 30_000;

function Behind({ lagMs }: { readonly lagMs: number | null }) {
  if (lagMs === null || lagMs < LATE_MS) return null;
  return (
    <p class="flash bad">
      The replica from which this page is read is {formatSpan(lagMs)} behind: what happened since is not
      shown.
    </p>
  );
}

/** When the page was read: what it says of times, such as that of the last tick, is as of then. */
function Clock({ view }: { readonly view: View }) {
  const { now, zone } = view;
  return (
    <span class="muted">
      as of {longTime(now, 'UTC')} UTC
      {zone === 'UTC' ? '' : ` · ${clockTime(now, zone)} in ${placeOf(zone)}`}
    </span>
  );
}
