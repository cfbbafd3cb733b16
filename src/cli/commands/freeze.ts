// `tock freeze` and `tock thaw`: nothing starts on any host, for a while.
import type { Command } from 'commander';
import { formatDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { duration, end, examples, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';
import { frozenWords } from '../views/queue/frozen-text.js';
import { localTime } from '../views/time-text.js';

interface FreezeFlags extends CommonOptions {
  readonly until?: string | Date;
  readonly note?: string;
  readonly ramp?: string;
}

interface ThawFlags extends CommonOptions {
  readonly ramp?: string;
}

export function addFreeze(program: Command): Command {
  return withJson(program.command('freeze'))
    .summary('let nothing start on any host, until a time')
    .description(
      'Freezes all hosts: no occurrence becomes a run, and no run starts, until the time or tock thaw. What runs goes on, alerts are delivered, and tock run --wait still executes by hand. Start deadlines and expect.within do not count that time; missed occurrences then follow the catch-up of their definitions. Pauses are not touched. Again while frozen: changes the end and the note.',
    )
    .option('--until <time>', 'when it ends by itself, such as +20m, 14:30 or 2026-03-09T08:00:00Z', end)
    .option('--note <text>', 'why; shown wherever something waits for it')
    .option('--ramp <duration>', 'what waits then starts spread over this time (default: at once)', duration)
    .addHelpText(
      'after',
      examples(
        ["tock freeze --until 10:20 --note 'maintenance'", 'until 10:20 in this host’s time zone'],
        ["tock freeze --until +20m --note 'new disks' --ramp 5m", 'then slowly, over five minutes'],
        ['tock thaw --ramp 5m', 'sooner'],
      ),
    )
    .action(action(freeze));
}

export function addThaw(program: Command): Command {
  return withJson(program.command('thaw'))
    .summary('end a freeze')
    .description(
      'Ends a freeze before its time. With --ramp, what waits, retries too, starts spread over that time, in its order. Pauses are not touched.',
    )
    .option(
      '--ramp <duration>',
      'over how long what waits starts; 0s: at once (default: as tock freeze has said)',
      duration,
    )
    .addHelpText(
      'after',
      examples(['tock thaw', 'now'], ['tock thaw --ramp 5m', 'what waits starts over five minutes']),
    )
    .action(action(thaw));
}

async function freeze(shell: Shell, { until, note, ramp }: FreezeFlags): Promise<number> {
  if (until === undefined)
    throw usage(
      'give --until, such as --until +20m: a freeze ends by itself, so that nobody has to remember it',
    );
  if (note === undefined)
    throw usage("give --note 'why': a freeze stops all hosts, and people there need to know the reason");
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const frozen = await tock.freeze({ until, note, ...(ramp === undefined ? {} : { ramp }) });
    shell.document({ freeze: frozen });
    const { before, ...held } = frozen;
    const was =
      before === null
        ? 'frozen'
        : `already frozen until ${localTime(before.until)} by ${cleanLine(before.by)} (${cleanLine(before.note)}), and now`;
    shell.say(`${paint('yellow', was)} ${frozenWords(held)}`);
    shell.say(paint('dim', 'nothing starts on any host until then; to end it sooner: tock thaw'));
    return 0;
  });
}

async function thaw(shell: Shell, { ramp }: ThawFlags): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const thawed = await tock.thaw(ramp === undefined ? {} : { ramp });
    shell.document({ thaw: thawed });
    const { ended, rampMs, spread } = thawed;
    if (ended === null) {
      shell.say('nothing was frozen, and nothing was changed');
      return 0;
    }
    shell.say(
      `${paint('green', 'thawed')}: it was frozen since ${localTime(ended.beganAt)} by ${cleanLine(ended.by)}: ${cleanLine(ended.note)}`,
    );
    shell.say(startsText(rampMs, spread));
    return 0;
  });
}

function startsText(rampMs: number, spread: number | null): string {
  if (rampMs === 0) return 'what waits starts now';
  if (spread === null) return `what waits starts within the next ${formatDuration(rampMs)}`;
  if (spread === 0) return 'no run waits';
  const runs = spread === 1 ? '1 run that waits starts' : `${spread} runs that wait start`;
  return `${runs} within the next ${formatDuration(rampMs)}`;
}

const usage = (message: string) => new TockError('TOCK_BAD_OPTION', message);
