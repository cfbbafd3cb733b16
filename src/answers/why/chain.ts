// Why a definition that runs after others ran, or did not, for an occurrence of theirs. Reads only.

import type { Engine } from '../../engine/engine.js';
import { type AskedTime, civilText, dayText } from '../../model/explain/asked-time.js';
import { firstInstant } from '../../model/explain/day.js';
import type { Timetable } from '../../model/explain/instant.js';
import { instantText, placeOfCivil, placeOfInstant } from '../../model/explain/local-clock.js';
import { type Chain, chainWords, decideChain } from '../../model/planning/chain.js';
import { isFinished, type RunStatus } from '../../model/run/states.js';
import { readOccurrence, readWhyRows, type WhyDefinition } from '../../store/reads/why/why.js';
import {
  type ChainParent,
  isFollowUpPending,
  readChainParents,
  readChainTimes,
} from '../../store/reads/why/why-chain.js';
import { answer, answerDay, MAX_ANSWERS_OF_A_DAY, type Why, type WhyVerdict } from './answer.js';
import { fateOfRow } from './fate.js';
import { blockedBy, describeMissing } from './words.js';

export interface ChainAsked {
  readonly engine: Engine;
  readonly definition: WhyDefinition;
  readonly chain: Chain;
  readonly table: Timetable;
  /** Asks the same of another definition. */
  readonly ask: (name: string, at: Date) => Promise<Why>;
}

/** Explains one time, or each time of a day. */
export async function whyChain(asked: ChainAsked, time: AskedTime): Promise<Why> {
  const { definition, chain, table } = asked;
  if (time.kind === 'day') return await whyChainDay(asked, time.day);
  const instants = time.kind === 'instant' ? [time.at] : placeOfCivil(table.zone, time.civil).instants;
  const answers: Why[] = [];
  for (const second of instants) answers.push(await whyOne(asked, second * 1000));
  const [only] = answers;
  if (only && answers.length === 1) return only;
  const local = time.kind === 'civil' ? civilText(time.civil) : '';
  if (only) {
    const sentences = [`${local} happens twice in ${table.zone.name}`];
    return answer(definition, { local, verdict: 'several', sentences, occurrences: answers });
  }
  const sentences = [
    `${local} does not exist in ${table.zone.name}`,
    `it runs ${chainWords(chain)}, for each occurrence of theirs`,
  ];
  return answer(definition, { local, verdict: 'nonexistent', sentences });
}

async function whyChainDay(asked: ChainAsked, day: number): Promise<Why> {
  const { engine, definition, chain, table } = asked;
  const local = dayText(day);
  const [from, to] = [day, day + 1].map(each => firstInstant(table.zone, each * 86_400) * 1000);
  const span = { from: from ?? 0, to: to ?? 0 };
  const times = await readChainTimes(
    engine.database,
    definition.id,
    chain.definitions,
    span,
    MAX_ANSWERS_OF_A_DAY + 1,
  );
  const answers: Why[] = [];
  for (const at of times.slice(0, MAX_ANSWERS_OF_A_DAY)) answers.push(await whyOne(asked, at));
  // Whatever only one parent has is no occurrence of `all`, and is left out beside real ones.
  const occurrences = answers.filter(each => each.verdict !== 'no-occurrence');
  if (occurrences.length > 0)
    return answerDay(definition, local, table.zone.name, occurrences, times.length > MAX_ANSWERS_OF_A_DAY);
  const sentences = [
    `it runs ${chainWords(chain)}, for each occurrence of theirs`,
    `there is no run of theirs on ${local} in ${table.zone.name} (tock why ${chain.definitions[0] ?? ''} ${local})`,
  ];
  return answer(definition, { local, verdict: 'no-occurrence', sentences });
}

/** One occurrence of the parents. @param at epoch milliseconds */
async function whyOne(asked: ChainAsked, at: number): Promise<Why> {
  const { engine, definition, chain, table } = asked;
  const instant = new Date(at);
  const local = civilText(placeOfInstant(table.zone, Math.floor(at / 1000)).civil);
  const parents = await readChainParents(engine.database, chain.definitions, instant);
  const answers = await askMissing(asked, parents, instant);
  const said = [
    `it runs ${chainWords(chain)}`,
    ...parents.map(parent => describeParent(parent, answers.get(parent.name) ?? null)),
  ];
  const rows = await readWhyRows(engine.database, definition.id, instant, instant);
  const exact = rows.filter(row => row.scheduled_for.getTime() === at);
  const own = exact.findLast(row => row.status !== 'skipped') ?? exact[0];
  const found = own
    ? await fateOfRow({ engine, definition, table, rows }, own, said)
    : { run: null, ...(await withoutRow(asked, at, said, parents, answers)) };
  return answer(definition, { local, instant, ...found });
}

/** What parents without a run of this time say about it. */
async function askMissing(
  { ask }: ChainAsked,
  parents: readonly ChainParent[],
  instant: Date,
): Promise<Map<string, Why>> {
  const answers = new Map<string, Why>();
  for (const { name, id, exists } of parents)
    if (id === null && exists) answers.set(name, await ask(name, instant));
  return answers;
}

function describeParent(
  { name, id, status, exists, isSkippedFor }: ChainParent,
  missing: Why | null,
): string {
  if (id !== null && status !== null) {
    const reason = isSkippedFor === null ? '' : ` (${isSkippedFor})`;
    return `${name}: run ${id} ${status === 'succeeded' ? 'succeeded' : `is ${status}`}${reason}`;
  }
  if (!exists || missing === null) return `${name}: there is no definition of this name`;
  return `${name}: ${NEVER.has(missing.verdict) ? 'it has no occurrence then' : (missing.sentences.at(-1) ?? missing.verdict)}`;
}

/** Verdicts by which a definition will have no run of a time. */
const NEVER: ReadonlySet<WhyVerdict> = new Set<WhyVerdict>([
  'no-occurrence',
  'no-schedule',
  'excluded',
  'before-start',
  'after-end',
  'nonexistent',
  'repeated',
  'before-definition',
  'no-record',
  'pruned',
]);

async function withoutRow(
  { engine, definition, chain, table }: ChainAsked,
  at: number,
  said: readonly string[],
  parents: readonly ChainParent[],
  answers: ReadonlyMap<string, Why>,
): Promise<Pick<Why, 'verdict' | 'sentences'>> {
  const text = (date: Date) => instantText(date.getTime(), table.zone);
  const say = (verdict: WhyVerdict, sentence: string) => ({ verdict, sentences: [...said, sentence] });
  const known = await readOccurrence(engine.database, definition.id, new Date(at));
  if (known) return say('pruned', describeMissing(definition, at, table.zone, known).sentences.join('; '));
  const outcomes = new Map<string, RunStatus | null>(parents.map(each => [each.name, each.status]));
  const decision = decideChain(chain, outcomes);
  const isNever = ({ name, status, exists }: ChainParent) =>
    status === null && (!exists || NEVER.has(answers.get(name)?.verdict ?? 'due'));
  const open = parents.filter(each => (each.status === null || !isFinished(each.status)) && !isNever(each));
  if (decision === 'wait' && (open.length === 0 || (chain.require === 'all' && parents.some(isNever))))
    return say('no-occurrence', 'so there is no occurrence that it could run for');
  const stop = blockedBy(definition, text);
  if (stop) return say(stop.verdict, stop.sentence);
  if (decision === 'wait') {
    const isAhead = open.every(each => answers.get(each.name)?.verdict === 'upcoming');
    return say(
      isAhead ? 'upcoming' : 'waiting',
      `it waits for ${open.map(each => each.name).join(chain.require === 'all' ? ' and ' : ' or ')}`,
    );
  }
  if (await isFollowUpPending(engine.database, chain.definitions, new Date(at)))
    return say('due', 'what it runs after has ended; the next tick makes what follows (tock tick)');
  const ended = parents.flatMap(each => (each.finishedAt === null ? [] : [each.finishedAt.getTime()]));
  const isOlder = Math.max(...ended) < definition.created_at.getTime();
  if (isOlder)
    return say(
      'before-definition',
      `the definition was made at ${text(definition.created_at)}, when they had ended; earlier occurrences are not caught up`,
    );
  return say(
    'no-record',
    `nothing is on record, though they have ended: it ran after something else then (version ${definition.version}, of ${text(definition.updated_at)}), or run and key have been pruned`,
  );
}
