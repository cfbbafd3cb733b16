// What starts in a span of time, over all definitions: for `tock next` without a name.
import { hostZone } from '../../environment/host-zone.js';
import { chainWords } from '../../model/planning/chain.js';
import { comingStarts } from '../../model/planning/coming.js';
import { utcText } from '../../model/schedule/instant-text.js';
import type { Shell } from '../shell.js';
import { findSimulated } from '../simulated-definitions.js';
import { cleanLine, paint } from '../terminal.js';
import { countText } from './load-chart.js';
import { drawTable } from './table.js';
import { localTime, relative } from './time-text.js';

const SHOWN = 100;
const MAX_NAMED = 5;

/** @param limit how many definitions are listed; undefined: 100 */
export async function sayComing(
  shell: Shell,
  {
    from,
    to,
    limit = SHOWN,
  }: { readonly from: Date; readonly to: Date; readonly limit?: number | undefined },
): Promise<number> {
  const found = await findSimulated(shell, [], { hasDurations: false });
  const coming = comingStarts(found.definitions, { from, to });
  // When a chained run starts depends on how long others take.
  const chained = found.definitions.flatMap(({ name, after }) =>
    after ? [{ name, reason: `it runs ${chainWords(after)}` }] : [],
  );
  const leftOut = [...found.leftOut, ...chained].sort((one, other) => (one.name < other.name ? -1 : 1));
  const starts = coming.reduce((sum, each) => sum + each.starts, 0);
  shell.document({ from: utcText(from), to: utcText(to), starts, definitions: coming, leftOut });
  if (shell.json) return 0;
  const span = `from ${localTime(from)} to ${localTime(to)}`;
  const of = `of ${counted(coming.length, 'definition')}`;
  shell.say(
    starts === 0
      ? `nothing starts ${span}`
      : `${paint('bold', counted(starts, 'run'))} ${of} ${starts === 1 ? 'starts' : 'start'} ${span}`,
  );
  if (starts > 0) {
    const columns = [
      { title: 'definition', flexible: true },
      { title: 'runs', align: 'right' as const },
      { title: `first (${hostZone()})` },
      { title: '' },
      { title: 'last', optional: true as const },
    ];
    const rows = coming
      .slice(0, limit)
      .map(({ name, starts: count, first, last }) => [
        name,
        countText(count),
        localTime(first),
        relative(first),
        count === 1 ? '' : localTime(last),
      ]);
    shell.say(await drawTable(columns, rows));
    if (coming.length > limit)
      shell.say(paint('dim', `and ${coming.length - limit} definitions more; --count lists more`));
  }
  for (const { name, reason } of leftOut.slice(0, MAX_NAMED))
    shell.say(paint('dim', `left out: ${cleanLine(name)} (${reason})`));
  if (leftOut.length > MAX_NAMED)
    shell.say(paint('dim', `and ${leftOut.length - MAX_NAMED} more are left out (tock simulate names them)`));
  return 0;
}

const counted = (count: number, what: string) => `${countText(count)} ${what}${count === 1 ? '' : 's'}`;
