// The measures, in the order in which they are taken.
import { cost } from './cost.mjs';
import { enqueue } from './enqueue.mjs';
import { latency } from './latency.mjs';
import { load } from './load.mjs';
import { memory } from './memory.mjs';
import { notify } from './notify.mjs';
import { processes } from './processes.mjs';
import { quiet } from './quiet.mjs';
import { retention } from './retention.mjs';
import { share } from './share.mjs';
import { snapshot } from './snapshot.mjs';
import { throughput } from './throughput.mjs';
import { tick } from './tick.mjs';

export const MEASURES = [
  throughput,
  cost,
  processes,
  share,
  load,
  snapshot,
  retention,
  memory,
  enqueue,
  latency,
  notify,
  tick,
  quiet,
];
