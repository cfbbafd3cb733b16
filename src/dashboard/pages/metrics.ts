// The metrics, for Prometheus: no page, but behind the same door.
import { createTotalsReader, openMetrics } from '../../answers/figures/openmetrics.js';
import { CONTENT_TYPES, type ExpositionFormat, formatFor } from '../../model/metrics/exposition.js';
import { cached } from '../cached.js';
import type { App, View } from '../view.js';

/** Several scrapers at once share what is read. */
const MAX_AGE_MS = 1000;

export function addMetricsPage(app: App): void {
  const countTotals = createTotalsReader();
  const reading = (format: ExpositionFormat) =>
    cached(MAX_AGE_MS, async ({ reads }: View) => await openMetrics(reads, { format }, countTotals));
  const texts = { openmetrics: reading('openmetrics'), prometheus: reading('prometheus') };
  app.get('/metrics', async c => {
    const format = formatFor(c.req.header('accept'));
    const text = await texts[format](c.get('view'));
    return c.body(text, 200, { 'content-type': CONTENT_TYPES[format], vary: 'accept' });
  });
}
