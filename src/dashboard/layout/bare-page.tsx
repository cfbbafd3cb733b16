// A page without the frame: for who is not signed in, and for when there is nothing to frame.
import { html } from 'hono/html';
import type { Child } from 'hono/jsx';

export interface BarePageProps {
  /** The address of the style sheet. */
  readonly sheet: string;
  readonly title: string;
  /** Seconds after which the browser asks again. Absent: never. */
  readonly retry?: number;
  readonly children?: Child;
}

export function BarePage({ sheet, title, retry, children }: BarePageProps) {
  return html`<!doctype html>${(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        {retry === undefined ? null : <meta http-equiv="refresh" content={`${retry}`} />}
        <title>{title} · Tock</title>
        <link rel="stylesheet" href={sheet} />
      </head>
      <body class="bare">
        <main id="main">
          <h1>{title}</h1>
          {children}
        </main>
      </body>
    </html>
  )}`;
}
