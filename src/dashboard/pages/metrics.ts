// The metrics, for Prometheus: no page, but behind the same door.
import { openMetrics } from '../../engine/metrics/openmetrics.js';
import { CONTENT_TYPES, formatFor } from '../../model/metrics/exposition.js';
import type { App } from '../view.js';

export function addMetricsPage(app: App): void {
  app.get('/metrics', async c => {
    const format = formatFor(c.req.header('accept'));
    const text = await openMetrics(c.get('view').reads, { format });
    return c.body(text, 200, { 'content-type': CONTENT_TYPES[format], vary: 'accept' });
  });
}
