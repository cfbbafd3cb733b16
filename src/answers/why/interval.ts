// For which occurrences a scheduled run waits that waits for those in its data interval. Reads only.
import type { Engine } from '../../engine/engine.js';
import { explainIntervals } from '../../engine/materialize/follow-intervals.js';
import { instantText } from '../../model/explain/local-clock.js';
import { intervalText, runsFor } from '../../model/flow/interval-wait.js';
import type { Zone } from '../../model/schedule/zone/zone.js';
import { shellWord } from '../../model/shell-word.js';
import { readIntervalRun } from '../../store/runs/waits/intervals.js';

/** A sentence for each definition, and what can be done. Empty: the run does not wait so. */
export async function describeInterval({ database }: Engine, zone: Zone, id: string): Promise<string[]> {
  const run = await readIntervalRun.first(database, { id });
  if (run === undefined) return [];
  const [explained] = await explainIntervals(database, [run]);
  if (explained === undefined) return [];
  const { all, lacking } = explained;
  const text = (at: number) => instantText(at, zone);
  const waits = all.flatMap((each, place) => {
    const lacks = lacking[place] ?? [];
    const said = intervalText(run, each, lacks, text);
    if (said === null) return [];
    const dead = runsFor(each).filter(({ status }) => status === 'dead' || status === 'cancelled');
    const skipped = lacks.flatMap(lack => (lack.why === 'skipped' ? [lack.at] : []));
    return [{ said, name: each.name, dead: run.on === 'success' ? dead.map(({ id }) => id) : [], skipped }];
  });
  if (waits.length === 0) return ['it waits no longer: the next tick lets it start'];
  const remedies = waits.flatMap(({ name, dead, skipped }) => [
    ...(dead.length === 0 ? [] : [`tock retry ${dead.slice(0, 5).join(' ')}`]),
    ...(skipped.length === 0 ? [] : [backfillOf(name, skipped)]),
  ]);
  const isStuck = remedies.length > 0 || lacking.some(each => each.some(({ why }) => why !== 'due'));
  return [
    `it waits for the occurrences from ${text(run.from)} to ${text(run.to)}, itself not among them`,
    ...waits.map(({ said }) => said),
    ...(isStuck
      ? [`it goes on with ${[...remedies, `tock group continue ${id}, without them`].join('; or ')}`]
      : []),
  ];
}

/** For the command line the end is not included. */
function backfillOf(name: string, skipped: readonly number[]): string {
  const utc = (at: number) => new Date(at).toISOString().replace('.000Z', 'Z');
  return `tock backfill ${shellWord(name)} --from ${utc(Math.min(...skipped))} --to ${utc(Math.max(...skipped) + 1000)}`;
}
