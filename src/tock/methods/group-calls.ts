// What a Tock does with groups and flows.
import { readFlow } from '../../answers/runs/read-flow.js';
import { readGroup } from '../../answers/runs/read-group.js';
import type { Engine } from '../../engine/engine.js';
import { enqueueFlow } from '../../engine/flows.js';
import { enqueueGroup } from '../../engine/groups.js';
import { cancelGroup, continueGroup, retryGroup } from '../../engine/operate/groups.js';
import type { FlowOptions, FlowRun } from '../../model/flow/flow-run.js';
import type { NestedGroup } from '../../model/flow/nested-group.js';
import type { NewRun } from '../../model/job/job.js';
import type { Action } from '../../model/operator.js';
import { checked } from '../check-options.js';
import type { GroupMethods } from '../group-methods.js';

/** @param may the engine that acts for the operator, whose role suffices */
export function groupMethods(open: () => Engine, may: (action: Action) => Engine): GroupMethods {
  return {
    enqueueGroup: async (runs, options) =>
      await enqueueGroup(may('enqueue'), runs as readonly (NewRun | NestedGroup)[], options),
    enqueueFlow: (async (runs: Readonly<Record<string, FlowRun>>, options: FlowOptions) =>
      await enqueueFlow(may('enqueue'), runs, options)) as GroupMethods['enqueueFlow'],
    group: async id => await readGroup(open().database, id),
    flow: async id => await readFlow(open().database, id),
    continueGroup: async id => await continueGroup(may('groups.continue'), id),
    retryGroup: async (id, options) =>
      await retryGroup(may('groups.retry'), id, checked('retryGroup', options)),
    cancelGroup: async (id, options) =>
      await cancelGroup(may('groups.cancel'), id, checked('cancelGroup', options)),
  };
}
