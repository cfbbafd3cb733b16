// `tock alerts`, `alerts rules`, `channels`, `log`, `mute`, `unmute` and `test`.
import type { Command } from 'commander';
import { deliveryState } from '../../model/alerts/delivery-state.js';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { didYouMean } from '../../model/nearest.js';
import type { AlertMute } from '../../store/alerts/mutes.js';
import type { AlertRecord } from '../../store/alerts/records.js';
import { examples, instant, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';
import { drawTable } from '../views/table.js';
import { localTime, relative } from '../views/time-text.js';
import { addChannels, addLog, addRules } from './alert-lists.js';

interface MuteFlags extends CommonOptions {
  readonly until: Date;
  readonly note?: string;
}

const SUBCOMMANDS = ['list', 'rules', 'channels', 'log', 'mute', 'unmute', 'test'];

export function addAlerts(program: Command): Command {
  const alerts = withJson(program.command('alerts'))
    .summary('what is down since when, and which channels were notified; mute it, test the channels')
    .description(
      'Lists the alerts: what is down or has recovered, since when, and which channels were notified by which run. Without a subcommand, lists them.',
    )
    .argument(
      '[list|rules|channels|log|mute|unmute|test]',
      'what to do (default list); see tock alerts mute --help',
    )
    // Lets --json after the subcommand belong to the subcommand.
    .enablePositionalOptions()
    .addHelpText(
      'after',
      examples(
        ['tock alerts', 'what is down, and which channels were notified'],
        ['tock alerts mute nightly-report --until 2026-03-09T08:00:00Z', 'no notifications until then'],
        ['tock alerts test', 'a test message to each channel, and what they answer'],
      ),
    )
    .action(action(listOrRefuse));
  for (const add of [addList, addRules, addChannels, addLog, addMute, addUnmute, addTest])
    add(alerts).helpOption('-h, --help', 'print this help');
  return alerts;
}

function addList(alerts: Command): Command {
  return withJson(alerts.command('list'))
    .summary('list the alerts')
    .description('Lists what is down, then what has recovered, and the mutes that hold.')
    .addHelpText('after', examples(["tock alerts list --json | jq '.alerts[].subject'", 'for a monitor']))
    .action(action(list));
}

function addMute(alerts: Command): Command {
  return withJson(alerts.command('mute'))
    .summary('send no notifications of a rule, a definition, a queue or a host until a time')
    .description(
      'Mutes the alerts of a rule, or about a definition, a job, a queue or a host. They are still evaluated; notifications of what is still down are sent when the mute ends.',
    )
    .argument('<name>', 'name of the rule, definition, job, queue or host')
    .requiredOption('--until <instant>', 'the end of the mute, such as 2026-03-09T08:00:00Z', instant)
    .option('--note <text>', 'why; shown by tock alerts')
    .addHelpText(
      'after',
      examples(['tock alerts mute late --until 2026-03-09T08:00:00Z --note stocktaking', 'with a reason']),
    )
    .action(action(mute));
}

function addUnmute(alerts: Command): Command {
  return withJson(alerts.command('unmute'))
    .summary('end a mute')
    .description('Ends a mute. The next tick sends notifications of what is still down.')
    .argument('<name>', 'the name that was muted')
    .addHelpText('after', examples(['tock alerts unmute late', 'be notified again']))
    .action(action(unmute));
}

function addTest(alerts: Command): Command {
  return withJson(alerts.command('test'))
    .summary('send a test message now, and print the answer')
    .description(
      'Sends a test message from this process to one channel or to all, and prints what the receiver answered. Exit code 1 if one did not accept it.',
    )
    .argument('[channel]', 'name of the channel (default all)')
    .addHelpText('after', examples(['tock alerts test webhook', 'one channel']))
    .action(action(test));
}

async function listOrRefuse(shell: Shell, flags: CommonOptions, word: string | undefined): Promise<number> {
  if (word === undefined) return await list(shell, flags);
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${quote(word)} is not a command${didYouMean(word, SUBCOMMANDS)}: tock alerts list, rules, channels, log, mute, unmute or test (see tock alerts --help)`,
  );
}

async function list(shell: Shell, _flags: CommonOptions): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const [alerts, mutes] = [await tock.alerts.list(), await tock.alerts.mutes()];
    shell.document({ alerts, mutes });
    if (shell.json) return 0;
    if (alerts.length === 0) shell.say('nothing is down, and nothing has been');
    else shell.say(await drawAlerts(alerts));
    for (const each of mutes) shell.say(muteText(each));
    return 0;
  });
}

async function drawAlerts(alerts: readonly AlertRecord[]): Promise<string> {
  const columns = [
    { title: 'alert' },
    { title: 'about', flexible: true },
    { title: 'state' },
    { title: 'since' },
    { title: 'notified', flexible: true },
    { title: 'what', flexible: true },
  ];
  const rows = alerts.map(alert => [
    alert.rule,
    alert.subject,
    { text: alert.status, colour: alert.status === 'down' ? ('red' as const) : ('green' as const) },
    relative(alert.since),
    notifiedText(alert),
    alert.detail,
  ]);
  return await drawTable(columns, rows);
}

function notifiedText({ mutedUntil, lastFlip }: AlertRecord): string {
  if (lastFlip === null) return '';
  const notified = lastFlip.deliveries.map(delivery => {
    const { channel, deliveredAt, runId } = delivery;
    return deliveredAt === null
      ? `${channel}: ${deliveryState(delivery)} (run ${runId})`
      : `${channel} ${relative(deliveredAt)}`;
  });
  if (notified.length > 0) return notified.join(', ');
  return mutedUntil === null ? 'none' : 'none: muted';
}

function muteText({ name, until, note, by }: AlertMute): string {
  const why = note === null ? '' : ` (${cleanLine(note)})`;
  return `${paint('bold', cleanLine(name))} is muted until ${localTime(until)} by ${cleanLine(by)}${why}`;
}

async function mute(shell: Shell, { until, note }: MuteFlags, name: string): Promise<number> {
  return await withTock(shell, {}, async ({ tock }) => {
    const muted = await tock.alerts.mute(name, { until, ...(note === undefined ? {} : { note }) });
    shell.document({ mute: muted });
    shell.say(muteText(muted));
    return 0;
  });
}

async function unmute(shell: Shell, _flags: CommonOptions, name: string): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const wasMuted = await tock.alerts.unmute(name);
    shell.document({ name, wasMuted });
    shell.say(`${paint('bold', cleanLine(name))} ${wasMuted ? 'is no longer muted' : 'was not muted'}`);
    return 0;
  });
}

async function test(shell: Shell, _flags: CommonOptions, channel: string | undefined): Promise<number> {
  return await withTock(shell, {}, async ({ tock }) => {
    const results = await tock.alerts.test(channel);
    shell.document({ channels: results });
    if (results.length === 0)
      throw new TockError(
        'TOCK_NOT_FOUND',
        'no channel is configured; write: export const alerts = { channels: [ … ] } in the job module',
      );
    for (const { channel: name, isDelivered, answer } of results)
      shell.say(
        `${isDelivered ? paint('green', '✓') : paint('red', '✗')} ${cleanLine(name)}: ${cleanLine(answer)}`,
      );
    return results.every(({ isDelivered }) => isDelivered) ? 0 : 1;
  });
}
