// A whole document: head, list of pages, content, dialogs.
import { html } from 'hono/html';
import type { Child } from 'hono/jsx';
import type { Flash, View } from '../view.js';

export interface DocumentProps {
  /** Before "· Tock" in the browser's title. */
  readonly title: string;
  readonly assets: View['assets'];
  /** The address of the first page. */
  readonly base: string;
  readonly zone: string;
  /** With the id `pages`. */
  readonly navigation: Child;
  readonly flash: Flash | null;
  readonly dialogs: Child;
  /** The element `main`, with its id. */
  readonly children?: Child;
}

/** Answer it with `c.html(<Document …>…</Document>)`. */
export function Document({ title, assets, base, zone, navigation, flash, dialogs, children }: DocumentProps) {
  return html`<!doctype html>${(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="htmx-config" content="includeIndicatorCSS:false, history:false" />
        <title>{title} · Tock</title>
        <link rel="icon" href={assets.icon} type="image/svg+xml" />
        <link rel="stylesheet" href={assets.style} />
        <script src={assets.script} defer></script>
      </head>
      <body data-base={base} data-zone={zone}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        {navigation}
        <div class="content">
          {flash === null ? null : (
            <p class={`flash ${flash.tone}`} role="status">
              {flash.message}
            </p>
          )}
          <p class="notice" id="notice" role="status"></p>
          {children}
        </div>
        {dialogs}
      </body>
    </html>
  )}`;
}
