// Flows: runs of which each begins when others have ended, its parents.
import { checkFlow, isRunId } from '../model/flow/check-flow.js';
import type { FlowOptions, FlowRun } from '../model/flow/flow-run.js';
import { checkOptions, optionNames } from '../model/options.js';
import type { Engine } from './engine.js';
import { enqueueing } from './enqueue.js';
import { auditEnqueued, inTransactionOf, type Join, requireNew, waitingRun, writeJoins } from './joins.js';

const FLOW_OPTIONS = optionNames<FlowOptions>({ client: true });

/**
 * Enqueues the runs of a flow, all or none, in one transaction: that of the caller with `client`.
 * @throws TockError as `enqueueMany` does; TOCK_BAD_OPTION for a cycle and what else is no flow;
 * TOCK_NOT_FOUND for a parent that is not there; TOCK_BAD_KEY for a key that was used
 */
export async function enqueueFlow(
  engine: Engine,
  flow: Readonly<Record<string, FlowRun>>,
  options: FlowOptions = {},
): Promise<Record<string, string>> {
  checkOptions(options, FLOW_OPTIONS, 'enqueueFlow');
  const checked = checkFlow(flow);
  if (checked.length === 0) return {};
  const runs = checked.map(({ run, parents }) => (parents.length > 0 ? waitingRun(run) : run));
  const places = new Map(checked.map(({ name }, place) => [name, place]));
  const joins = checked.flatMap(({ parents, ifParentFails }, place): Join[] => {
    const awaited = parents.map(name => ({ run: isRunId(name) ? name : (places.get(name) ?? 0), name }));
    return parents.length === 0 ? [] : [{ place, policy: ifParentFails, awaited }];
  });
  const write = await enqueueing(engine, runs);
  const ids = await inTransactionOf(engine, options.client, async session => {
    const made = requireNew(await write(session), runs, 'the runs of a flow');
    await writeJoins(session, made, joins);
    await auditEnqueued(session, engine, runs, made);
    return made;
  });
  return Object.fromEntries(checked.map(({ name }, place) => [name, ids[place] ?? '']));
}
