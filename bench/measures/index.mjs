// The measures, in the order in which they are taken.
import { alone } from './alone.mjs';
import { batches } from './batches.mjs';
import { behind } from './behind.mjs';
import { cells } from './cells.mjs';
import { changes } from './changes.mjs';
import { cost } from './cost.mjs';
import { enqueue } from './enqueue.mjs';
import { fair } from './fair.mjs';
import { flood } from './flood.mjs';
import { gate } from './gate.mjs';
import { groups } from './groups.mjs';
import { latency } from './latency.mjs';
import { limits } from './limits.mjs';
import { load } from './load.mjs';
import { logs } from './logs.mjs';
import { materialize } from './materialize.mjs';
import { memory } from './memory.mjs';
import { metrics } from './metrics.mjs';
import { notify } from './notify.mjs';
import { pages } from './pages.mjs';
import { plan } from './plan.mjs';
import { polls } from './polls.mjs';
import { processes } from './processes.mjs';
import { prove } from './prove.mjs';
import { queues } from './queues.mjs';
import { quiet } from './quiet.mjs';
import { ramp } from './ramp.mjs';
import { relay } from './relay.mjs';
import { retention } from './retention.mjs';
import { share } from './share.mjs';
import { snapshot } from './snapshot.mjs';
import { soak } from './soak.mjs';
import { spread } from './spread.mjs';
import { standby } from './standby.mjs';
import { throughput } from './throughput.mjs';
import { tick } from './tick.mjs';
import { twoServices } from './two-services.mjs';
import { urgent } from './urgent.mjs';
import { besideWaiting, resumed } from './waits.mjs';
import { watched } from './watched.mjs';
import { weights } from './weights.mjs';

export const MEASURES = [
  throughput,
  cost,
  alone,
  logs,
  processes,
  share,
  spread,
  batches,
  load,
  queues,
  twoServices,
  limits,
  fair,
  weights,
  ramp,
  materialize,
  snapshot,
  behind,
  flood,
  retention,
  metrics,
  memory,
  enqueue,
  latency,
  resumed,
  besideWaiting,
  changes,
  groups,
  urgent,
  notify,
  pages,
  prove,
  plan,
  watched,
  relay,
  standby,
  tick,
  quiet,
  polls,
  cells,
  soak,
  gate,
];
