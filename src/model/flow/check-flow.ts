// Checks the runs of a flow, and finds out which of them come after which.
import { TockError } from '../errors.js';
import type { NewRun } from '../job/job.js';
import { checkName, quote } from '../names.js';
import { didYouMean } from '../nearest.js';
import type { FlowRun, IfParentFails } from './flow-run.js';

const MAX_RUNS = 10_000;
const MAX_PARENTS = 100_000;
const ID = /^\d{1,18}$/;
const POLICIES: Readonly<Record<IfParentFails, true>> = { wait: true, cancel: true, run: true };

/** A run of a flow, with its parents in their order. */
export interface CheckedFlowRun {
  readonly name: string;
  readonly run: NewRun;
  readonly parents: readonly string[];
  readonly ifParentFails: IfParentFails;
}

/** Whether a parent is a run that is there already. */
export const isRunId = (given: unknown): given is string => typeof given === 'string' && ID.test(given);

/** @throws TockError TOCK_BAD_OPTION, which names the runs */
export function checkFlow(runs: Readonly<Record<string, FlowRun>>): CheckedFlowRun[] {
  if (typeof runs !== 'object' || runs === null || Array.isArray(runs))
    throw bad(
      'it takes an object of runs by their names: { fetch: { job }, parse: { job, after: ["fetch"] } }',
    );
  const names = Object.keys(runs);
  if (names.length > MAX_RUNS)
    throw bad(
      `${names.length} runs are more than the ${MAX_RUNS} that a flow can have: a group can have more`,
    );
  const checked = names.map(name => checkRun(name, runs));
  const edges = checked.reduce((sum, { parents }) => sum + parents.length, 0);
  if (edges > MAX_PARENTS)
    throw bad(
      `the runs have ${edges} parents in all, more than the ${MAX_PARENTS} that a flow can have: let a run between them join many`,
    );
  refuseCycle(checked);
  return checked;
}

function checkRun(name: string, runs: Readonly<Record<string, FlowRun>>): CheckedFlowRun {
  checkName(name, 'run of a flow', 'TOCK_BAD_OPTION');
  if (ID.test(name)) throw bad(`${quote(name)} cannot be the name of a run of a flow: it looks like an id`);
  const what = `run ${quote(name)} of the flow`;
  const flowRun = runs[name];
  if (typeof flowRun !== 'object' || flowRun === null)
    throw bad(`${what} is ${quote(flowRun)}; write { job, payload, after }`);
  const { after = [], ifParentFails = 'wait', ...run } = flowRun;
  if (!Object.hasOwn(POLICIES, ifParentFails))
    throw bad(`${what}: ifParentFails ${quote(ifParentFails)} is none of wait, cancel, run`);
  for (const option of ['unique', 'replace', 'debounce'])
    if ((run as Readonly<Record<string, unknown>>)[option] !== undefined)
      throw bad(`${what} has the option ${option}: the runs of a flow are new ones, so a key is used once`);
  const parents = checkParents(what, name, after, runs);
  if (parents.length > 0 && (run.runAt !== undefined || run.delay !== undefined))
    throw bad(`${what} has parents and a time: it begins when they have ended; give the time to its parents`);
  return { name, run, parents, ifParentFails };
}

function checkParents(
  what: string,
  name: string,
  after: unknown,
  runs: Readonly<Record<string, unknown>>,
): readonly string[] {
  if (!Array.isArray(after))
    throw bad(`${what}: after ${quote(after)} is no array of names of the flow, or of ids of runs`);
  const seen = new Set<string>();
  for (const parent of after as unknown[]) {
    if (parent === name) throw bad(`${what} comes after itself`);
    const isKnown = typeof parent === 'string' && (ID.test(parent) || Object.hasOwn(runs, parent));
    if (!isKnown)
      throw bad(
        `${what} comes after ${quote(parent)}, which is no run of the flow, and no id of a run${didYouMean(String(parent), Object.keys(runs))}`,
      );
    if (seen.has(parent)) throw bad(`${what} comes after ${quote(parent)} twice`);
    seen.add(parent);
  }
  return [...seen];
}

/** Takes away again and again the runs whose parents are gone. What is left waits for itself. */
function refuseCycle(runs: readonly CheckedFlowRun[]): void {
  const children = new Map<string, string[]>();
  const left = new Map<string, number>();
  for (const { name, parents } of runs) {
    const inFlow = parents.filter(parent => !isRunId(parent));
    left.set(name, inFlow.length);
    for (const parent of inFlow) {
      const others = children.get(parent);
      if (others) others.push(name);
      else children.set(parent, [name]);
    }
  }
  const free = runs.filter(({ name }) => left.get(name) === 0).map(({ name }) => name);
  for (let parent = free.pop(); parent !== undefined; parent = free.pop()) {
    left.delete(parent);
    for (const child of children.get(parent) ?? []) {
      const count = (left.get(child) ?? 0) - 1;
      left.set(child, count);
      if (count === 0) free.push(child);
    }
  }
  if (left.size === 0) return;
  const parentsOf = new Map(runs.map(({ name, parents }) => [name, parents]));
  const way: string[] = [];
  let at = [...left.keys()][0] ?? '';
  while (!way.includes(at)) {
    way.push(at);
    at = parentsOf.get(at)?.find(parent => left.has(parent)) ?? at;
  }
  const cycle = [...way.slice(way.indexOf(at)), at].slice(0, 20).map(name => quote(name));
  throw bad(`runs of the flow come after each other in a circle: ${cycle.join(' after ')}`);
}

const bad = (message: string) => new TockError('TOCK_BAD_OPTION', `enqueueFlow: ${message}`);
