// `tock backfill`: runs for occurrences of the past.

import type { Command } from 'commander';
import type { BackfillProgress, BackfillResult } from '../../../engine/materialize/backfill.js';
import { utcText } from '../../../model/schedule/instant-text.js';
import { examples, instant, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { onDefinition } from '../../unknown-names.js';
import { nextText } from '../../views/definition-text.js';
import { createProgressView } from '../../views/progress-view.js';

interface BackfillFlags extends CommonOptions {
  readonly from: Date;
  readonly to: Date;
  readonly dryRun?: true;
}

export function addBackfill(program: Command): Command {
  return withJson(program.command('backfill'))
    .summary('make runs for occurrences of the past')
    .description(
      'Makes a run, due now, for each occurrence in [from, to) that has none: missed, skipped, or before the definition existed. Safe to repeat: no occurrence runs twice. The overlap policy, jitter and the start deadline do not apply.',
    )
    .argument('<definition>', 'name of the definition')
    .requiredOption('--from <instant>', 'included, such as 2026-03-01T00:00:00Z', instant)
    .requiredOption('--to <instant>', 'excluded; not in the future', instant)
    .option('--dry-run', 'only show how many there are')
    .addHelpText(
      'after',
      examples(
        [
          'tock backfill weekly-run-report --from 2026-01-01T00:00:00Z --to 2026-03-01T00:00:00Z --dry-run',
          'what it would make',
        ],
        ['tock backfill weekly-run-report --from 2026-01-01T00:00:00Z --to 2026-03-01T00:00:00Z', 'make it'],
      ),
    )
    .action(action(backfill));
}

async function backfill(shell: Shell, flags: BackfillFlags, name: string): Promise<number> {
  const { from, to, dryRun = false } = flags;
  return await withTock(shell, {}, async ({ tock }) => {
    const view = createProgressView(shell);
    const onProgress = ({ done, occurrences, made }: BackfillProgress) =>
      view.show(done, occurrences, `${done} of ${occurrences}, ${made} made`);
    const options = { from, to, dryRun, onProgress };
    const result = await onDefinition(tock, name, () => tock.schedules.backfill(name, options)).finally(
      view.end,
    );
    const [definition = null] = await tock.schedules.list({ name });
    shell.document({ definition: name, from: utcText(from), to: utcText(to), dryRun, ...result });
    shell.say(`${paint('bold', cleanLine(name))}: ${resultText(result, dryRun)}`);
    if (definition) shell.say(nextText(definition));
    return 0;
  });
}

function resultText({ occurrences, existing, made }: BackfillResult, dryRun: boolean): string {
  if (occurrences === 0) return 'no occurrences in this time span';
  const found = `${occurrences} ${occurrences === 1 ? 'occurrence' : 'occurrences'}, ${existing} with a run already`;
  return dryRun
    ? `${found}, ${occurrences - existing} to be made; nothing was written`
    : `${found}, ${made} made and due now`;
}
