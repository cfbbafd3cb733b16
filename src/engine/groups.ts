// Groups: runs, and one that is executed when they have ended, the join. It is a run from the start, which
// waits for the others; so what explains, cancels and retries runs does so with joins.
import { TockError } from '../model/errors.js';
import type { NestedGroup } from '../model/flow/nested-group.js';
import type { QueryClient } from '../model/job/enqueue-options.js';
import type { NewRun } from '../model/job/job.js';
import type { EndedRun, EnqueuedGroup, GroupOptions } from '../model/job/wait-methods.js';
import { quote } from '../model/names.js';
import { checkOptions, optionNames } from '../model/options.js';
import type { Session } from '../store/connection/database.js';
import { addMembers, isJoin, lockGroupsOf, readMembers, readResults } from '../store/runs/waits/groups.js';
import type { Engine } from './engine.js';
import { enqueueing } from './enqueue.js';
import { auditEnqueued, inTransactionOf, type Join, requireNew, waitingRun, writeJoins } from './joins.js';

const NESTED_OPTIONS = { then: true, on: true } as const;
const GROUP_OPTIONS = optionNames<GroupOptions & { readonly client: QueryClient }>({
  ...NESTED_OPTIONS,
  key: true,
  client: true,
});
const NESTED_GROUP = optionNames<NestedGroup>({ ...NESTED_OPTIONS, runs: true });
const MAX_MEMBERS = 100_000;
const MAX_DEPTH = 32;
/** At once: their ids are kept as the result of a step. */
const MAX_ADDED = 10_000;

/**
 * Enqueues runs and their join, all or none, in one transaction: that of the caller with `client`. With a key
 * that was used before, nothing; then it returns that group.
 * @throws TockError as `enqueueMany` does; TOCK_BAD_OPTION; TOCK_BAD_KEY for a member whose key was used, or
 * a key of the group that another run has
 */
export async function enqueueGroup(
  engine: Engine,
  members: readonly (NewRun | NestedGroup)[],
  options: GroupOptions & { readonly client?: QueryClient },
): Promise<EnqueuedGroup> {
  checkOptions(options, GROUP_OPTIONS, 'enqueueGroup');
  const { key, client } = options;
  const { runs, joins } = flatten(members, options);
  const [first, ...rest] = runs;
  if (first === undefined) throw new TockError('TOCK_BAD_STATE', 'nothing was enqueued');
  const join = key === undefined ? first : { ...first, key };
  const writeJoin = await enqueueing(engine, [join]);
  const writeRest = rest.length === 0 ? null : await enqueueing(engine, rest, true);
  return await inTransactionOf(engine, client, async session => {
    const [made] = await writeJoin(session);
    if (made === undefined) throw new TockError('TOCK_BAD_STATE', 'nothing was enqueued');
    if (!made.isNew) {
      if (!(await isJoin.first(session, { join: made.id })))
        throw new TockError(
          'TOCK_BAD_KEY',
          `the key ${quote(join.key)} was used by run ${made.id}, which is not the join of a group`,
        );
      const old = await readMembers.run(session, { join: made.id });
      return { id: made.id, runs: old.map(({ id }) => id), isNew: false };
    }
    const others = requireNew((await writeRest?.(session)) ?? [], rest, 'the members of a group');
    const ids = [made.id, ...others];
    await writeJoins(session, ids, joins);
    await auditEnqueued(session, engine, runs, ids);
    const own = joins[0]?.awaited ?? [];
    return { id: made.id, runs: own.map(({ run }) => ids[Number(run)] ?? ''), isNew: true };
  });
}

/** The joins and members of a group and of those in it, by their places; its own join is the first. */
function flatten(members: NestedGroup['runs'], { then: join, on }: Pick<NestedGroup, 'then' | 'on'>) {
  const runs: NewRun[] = [];
  const joins: Join[] = [];
  const add = (waiting: NewRun, policy: NestedGroup['on'] = 'success', depth = 1) => {
    if (policy !== 'success' && policy !== 'completion')
      throw new TockError('TOCK_BAD_OPTION', `on ${quote(policy)} is none of success, completion`);
    if (depth > MAX_DEPTH)
      throw new TockError('TOCK_BAD_OPTION', `groups are nested deeper than ${MAX_DEPTH} levels`);
    const awaited: { readonly run: number }[] = [];
    const place = runs.push(waitingRun(waiting)) - 1;
    joins.push({ place, policy: policy === 'success' ? 'wait' : 'run', awaited });
    return { place, awaited, depth };
  };
  const fill = ({ awaited, depth }: ReturnType<typeof add>, list: NestedGroup['runs']) => {
    if (!Array.isArray(list))
      throw new TockError('TOCK_BAD_OPTION', `runs of a group is ${quote(list)}; write an array of runs`);
    for (const member of list as NestedGroup['runs']) {
      if (isGroup(member)) {
        const inner = add(member.then as NewRun, member.on, depth + 1);
        awaited.push({ run: inner.place });
        fill(inner, member.runs);
      } else awaited.push({ run: runs.push(member) - 1 });
    }
  };
  fill(add(join as NewRun, on), members);
  if (runs.length > MAX_MEMBERS + 1)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `${runs.length - 1} runs are more than the ${MAX_MEMBERS} that a group can have: enqueue several groups, and wait for them by ctx.waitForRuns`,
    );
  return { runs, joins };
}

function isGroup(member: NewRun | NestedGroup): member is NestedGroup {
  if (typeof member !== 'object' || member === null || !('runs' in member)) return false;
  checkOptions(member, NESTED_GROUP, 'a group as a member of enqueueGroup');
  if (typeof member.then === 'object') return true;
  throw new TockError(
    'TOCK_BAD_OPTION',
    'a group as a member of enqueueGroup has no join: write { runs, then: { job } }',
  );
}

/**
 * What adds runs to the group of a run that its caller holds, in a transaction; it returns their ids.
 * @throws TockError as `enqueueMany` does; TOCK_BAD_OPTION for more than 10,000
 */
export async function addingToGroup(
  engine: Engine,
  member: string,
  runs: readonly NewRun[],
): Promise<(session: Session) => Promise<string[]>> {
  if (!Array.isArray(runs) || runs.length > MAX_ADDED)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `ctx.group.add takes an array of at most ${MAX_ADDED} runs: add more under other names`,
    );
  const write = runs.length === 0 ? null : await enqueueing(engine, runs, true);
  return async session => {
    const groups = await lockGroupsOf.run(session, { member });
    const [group] = groups;
    if (group === undefined || groups.length > 1)
      throw new TockError(
        'TOCK_BAD_STATE',
        group === undefined
          ? `ctx.group.add: run ${member} is not a member of a group`
          : `ctx.group.add: run ${member} is a member of several groups (${groups.map(({ join }) => join).join(', ')}): it is not clear which is meant`,
      );
    if (group.isOver)
      throw new TockError(
        'TOCK_BAD_STATE',
        `ctx.group.add: the join of the group, run ${group.join}, waits no longer`,
      );
    if (write === null) return [];
    const ids = requireNew(await write(session), runs, 'the members of a group');
    const added = await addMembers.first(session, {
      wait: group.wait,
      members: `{${ids.join()}}`,
      most: MAX_MEMBERS,
    });
    if (!added)
      throw new TockError(
        'TOCK_BAD_OPTION',
        `ctx.group.add: with ${ids.length} more, group ${group.join} would have more than ${MAX_MEMBERS} runs`,
      );
    return ids;
  };
}

const PAGE = 500;

/**
 * How the members of a group have ended, for the handler of its join: in their order, read in pages.
 * @throws TockError TOCK_BAD_STATE for a run that is no join
 */
export async function* groupResults(
  { database }: Engine,
  join: string,
): AsyncGenerator<EndedRun, undefined, undefined> {
  const page = async (after: number) => await readResults.run(database, { join, after, limit: PAGE });
  let rows = await page(0);
  if (rows.length === 0 && !(await isJoin.first(database, { join })))
    throw new TockError('TOCK_BAD_STATE', `ctx.group.results: run ${join} is not the join of a group`);
  while (rows.length > 0) {
    for (const { id, status, output, error } of rows)
      yield {
        id,
        status: status as EndedRun['status'],
        output: output === null ? null : JSON.parse(output),
        error,
      };
    rows = rows.length < PAGE ? [] : await page(rows.at(-1)?.position ?? 0);
  }
}
