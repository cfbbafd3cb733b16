// `tock prove`: what became of every occurrence.
import type { Command } from 'commander';
import type { ProofProgress } from '../../../answers/prove/prove.js';
import { stateText } from '../../../model/occurrences/occurrence.js';
import type { Proof, ProofFinding } from '../../../model/prove/report.js';
import { utcText } from '../../../model/schedule/instant-text.js';
import { shellWord } from '../../../model/shell-word.js';
import { examples, instant, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { onDefinition } from '../../unknown-names.js';
import { countText } from '../../views/load-chart.js';
import { createProgressView } from '../../views/progress-view.js';

interface ProveFlags extends CommonOptions {
  readonly from?: Date;
  readonly to?: Date;
}

export function addProve(program: Command): Command {
  return withJson(program.command('prove'))
    .summary('prove what became of every occurrence')
    .description(
      'Computes the occurrences of each definition again, by the version that was in force, and matches each with a run, a skipped row, an exception such as a pause, or the key of a run that retention has deleted. Shows what nothing explains, such as a missing or a doubled run. Only reads.',
    )
    .argument('[definition...]', 'names; without one: all, also those that were removed')
    .option(
      '--from <instant>',
      'included, such as 2026-03-01T00:00:00Z (default 24 hours before --to)',
      instant,
    )
    .option('--to <instant>', 'excluded (default now)', instant)
    .addHelpText(
      'after',
      `\nExit code 1 if anything is unexplained.\n${examples(
        ['tock prove', 'the last 24 hours'],
        ['tock prove --from 2026-03-01T00:00:00Z --to 2026-04-01T00:00:00Z', 'a month'],
        ['tock prove close-the-day --from 2026-01-01T00:00:00Z --json', 'one definition, for a script'],
      )}`,
    )
    .action(action(prove));
}

async function prove(shell: Shell, { from, to }: ProveFlags, names: readonly string[]): Promise<number> {
  return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) => {
    const view = createProgressView(shell);
    const onProgress = ({ done, total, occurrences }: ProofProgress) =>
      view.show(done, total, `${countText(occurrences)} occurrences`);
    const options = {
      onProgress,
      ...(from && { from }),
      ...(to && { to }),
      ...(names.length > 0 && { names }),
    };
    const [first = ''] = names;
    const proof = await (names.length === 1
      ? onDefinition(tock, first, () => tock.prove(options))
      : tock.prove(options)
    ).finally(view.end);
    shell.document(proof);
    if (!shell.json) sayProof(shell, proof);
    return proof.holds ? 0 : 1;
  });
}

function sayProof(shell: Shell, proof: Proof): void {
  const { from, to, definitions, occurrences, explained, byKind, notProvable, unexplained, found } = proof;
  shell.say(
    `${paint('bold', counted(occurrences, 'occurrence'))} of ${counted(definitions, 'definition')} from ${utcText(from)} to ${utcText(to)}`,
  );
  const row = (count: string, words: string) => shell.say(`  ${count.padStart(9)}  ${words}`);
  if (explained > 0) shell.say(`${countText(explained)} explained:`);
  for (const [kind, count] of Object.entries(byKind)) row(countText(count), kindWords(kind));
  if (notProvable.length > 0) shell.say('not provable:');
  // Of a time without a known schedule there is nothing to count.
  for (const { reason, definitions: affected, occurrences: count } of notProvable)
    row(count === 0 ? '' : countText(count), `${NOT_PROVABLE[reason]} (${counted(affected, 'definition')})`);
  if (unexplained === 0) {
    shell.say(paint('green', 'nothing is unexplained'));
    return;
  }
  shell.say(paint('red', `${countText(unexplained)} unexplained:`));
  for (const finding of found) shell.say(`  ${findingText(finding)}`);
  if (unexplained > found.length)
    shell.say(`  and ${countText(unexplained - found.length)} more (--json counts each kind)`);
  const [first] = found;
  if (first?.at)
    shell.say(`tock why ${shellWord(first.definition)} ${utcText(first.at)}   says more about the first`);
}

const counted = (count: number, what: string) => `${countText(count)} ${count === 1 ? what : `${what}s`}`;

const findingText = ({ definition, kind, at, text }: ProofFinding) =>
  `${paint('red', kind.padEnd(10))} ${cleanLine(definition)}${at === null ? '' : ` ${utcText(at)}`}: ${cleanLine(text)}`;

const KINDS: Readonly<Record<string, string>> = {
  run: 'with a run',
  backfill: 'with a run that a backfill made',
  stands: 'for which the run after them stands',
  pruned: 'with a run that retention has deleted; the key is kept',
  paused: 'in a pause that has not ended',
  broken: 'while the definition was broken',
  vanished: 'due when the definition was removed, or left the code',
  'used-up': 'after the last run that remaining allowed',
  moved: 'moved to a time that is still to come',
  due: 'due, and waiting for a tick',
  upcoming: 'still to come',
};

function kindWords(kind: string): string {
  const [, reason] = /^skipped:(.*)$/.exec(kind) ?? [];
  if (reason !== undefined) return cleanLine(stateText({ state: 'skipped', reason }));
  return cleanLine(KINDS[kind] ?? kind);
}

const NOT_PROVABLE: Readonly<Record<Proof['notProvable'][number]['reason'], string>> = {
  registration: 'before the definition was registered, or made',
  versions: 'before the oldest version that is kept',
  'no-version': 'no version is kept, so that it is not known what was in force',
  retention: 'without a record, from a time of which retention has deleted runs',
  unreadable: 'the schedule cannot be read',
  zones: 'of a time at which the zone had other offsets by earlier zone data',
  chain: 'runs after others and has their occurrences: only doubled runs are looked for',
};
