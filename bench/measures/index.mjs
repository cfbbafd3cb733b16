// The measures, in the order in which they are taken.
import { alone } from './alone.mjs';
import { behind } from './behind.mjs';
import { cells } from './cells.mjs';
import { cost } from './cost.mjs';
import { enqueue } from './enqueue.mjs';
import { flood } from './flood.mjs';
import { gate } from './gate.mjs';
import { latency } from './latency.mjs';
import { limits } from './limits.mjs';
import { load } from './load.mjs';
import { logs } from './logs.mjs';
import { materialize } from './materialize.mjs';
import { memory } from './memory.mjs';
import { metrics } from './metrics.mjs';
import { notify } from './notify.mjs';
import { pages } from './pages.mjs';
import { processes } from './processes.mjs';
import { queues } from './queues.mjs';
import { quiet } from './quiet.mjs';
import { relay } from './relay.mjs';
import { retention } from './retention.mjs';
import { share } from './share.mjs';
import { snapshot } from './snapshot.mjs';
import { soak } from './soak.mjs';
import { spread } from './spread.mjs';
import { standby } from './standby.mjs';
import { throughput } from './throughput.mjs';
import { tick } from './tick.mjs';
import { urgent } from './urgent.mjs';
import { watched } from './watched.mjs';

export const MEASURES = [
  throughput,
  cost,
  alone,
  logs,
  processes,
  share,
  spread,
  load,
  queues,
  limits,
  materialize,
  snapshot,
  behind,
  flood,
  retention,
  metrics,
  memory,
  enqueue,
  latency,
  urgent,
  notify,
  pages,
  watched,
  relay,
  standby,
  tick,
  quiet,
  cells,
  soak,
  gate,
];
