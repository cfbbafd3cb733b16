// The frame of every page.
import { html } from 'hono/html';
import type { Child } from 'hono/jsx';
import type { View } from '../view.js';
import { Dialogs } from './dialogs.js';
import { Navigation, type PageName } from './navigation.js';
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
  /** Seconds after which the content is fetched again and merged into the page. Absent: never. */
  readonly live?: number;
  readonly children?: Child;
}

/** A whole document; answer it with `c.html(<Page …>…</Page>)`. */
export function Page({ view, title, current, aside, lead, live, children }: PageProps) {
  return html`<!doctype html>${(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="htmx-config" content="includeIndicatorCSS:false, history:false" />
        <title>{title} · Tock</title>
        <link rel="icon" href={view.assets.icon} type="image/svg+xml" />
        <link rel="stylesheet" href={view.assets.style} />
        <script src={view.assets.script} defer></script>
      </head>
      <body data-base={view.link('/')} data-zone={view.zone}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <Navigation view={view} current={current} />
        <div class="content">
          {view.flash === null ? null : (
            <p class={`flash ${view.flash.tone}`} role="status">
              {view.flash.message}
            </p>
          )}
          <p class="notice" id="notice" role="status"></p>
          <main id="main" tabindex={-1} data-live={live}>
            <header class="page">
              <h1>{title}</h1>
              {current === 'now' ? <Clock view={view} /> : null}
              {aside}
            </header>
            {lead === undefined ? null : <p class="lead">{lead}</p>}
            {children}
          </main>
        </div>
        <Dialogs view={view} />
      </body>
    </html>
  )}`;
}

function Clock({ view }: { readonly view: View }) {
  const { now, zone } = view;
  return (
    <span class="muted">
      {longTime(now, 'UTC')} UTC
      {zone === 'UTC' ? '' : ` · ${clockTime(now, zone)} in ${placeOf(zone)}`}
    </span>
  );
}
