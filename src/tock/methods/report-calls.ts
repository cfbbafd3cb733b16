// `tock.prove`, `plan`, `metrics` and `capacity`: each is loaded when it is first asked for.
import type { Engine } from '../../engine/engine.js';
import { checked } from '../check-options.js';
import type { ReportMethods } from '../report-methods.js';

export function reportCalls(open: () => Engine): ReportMethods {
  return {
    prove: async options => {
      const { prove } = await import('../../answers/prove/prove.js');
      return await prove(open().database, checked('prove', options));
    },
    zones: async () => {
      const { readZonesReport } = await import('../../answers/zones/read-zones.js');
      return await readZonesReport(open().database);
    },
    plan: async options => {
      const { plan } = await import('../../answers/plan/plan.js');
      const { database, registry, settings } = open();
      return await plan(database, registry, settings.service, checked('plan', options));
    },
    metrics: async options => {
      const { openMetrics } = await import('../../answers/figures/openmetrics.js');
      return await openMetrics(open().database, checked('metrics', options));
    },
    capacity: async options => {
      const report = await import('../../answers/figures/capacity.js');
      return await report.measureCapacity(open().database, checked('capacity', options));
    },
  };
}
