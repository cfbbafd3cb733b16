// `tock alerts rules`, `channels` and `log`: what is configured here, and what has happened.
import type { Command } from 'commander';
import { deliveryState } from '../../model/alerts/delivery-state.js';
import type { ChannelDelivery } from '../../store/alerts/records.js';
import { count, examples, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { drawTable } from '../views/table.js';
import { relative } from '../views/time-text.js';

interface LogFlags extends CommonOptions {
  readonly limit: number;
}

const LIMIT = 50;

export function addRules(alerts: Command): Command {
  return withJson(alerts.command('rules'))
    .summary('list the rules of the job module')
    .description(
      'Lists the rules of the job module, or those that hold where it states none: when each fires, what it is about, and which channels it notifies.',
    )
    .addHelpText('after', examples(['tock alerts rules', 'what is watched']))
    .action(action(rules));
}

export function addChannels(alerts: Command): Command {
  return withJson(alerts.command('channels'))
    .summary('list the channels, and what became of their last messages')
    .description(
      'Lists the channels of the job module, where each sends (no secret is printed), and what became of the last message, with the run that delivers it.',
    )
    .addHelpText('after', examples(['tock alerts channels', 'did the last message arrive?']))
    .action(action(channels));
}

export function addLog(alerts: Command): Command {
  return withJson(alerts.command('log'))
    .summary('list what went down and recovered')
    .description(
      'Lists each time that an alert went down, was repeated or recovered, the latest first. It is kept for 90 days.',
    )
    .option('-n, --limit <count>', `how many (default ${LIMIT})`, count(1, 10_000), LIMIT)
    .addHelpText('after', examples(['tock alerts log -n 10', 'the last ten']))
    .action(action(log));
}

async function rules(shell: Shell, _flags: CommonOptions): Promise<number> {
  return await withTock(shell, {}, async ({ tock }) => {
    const list = await tock.alerts.rules();
    shell.document({ rules: list });
    if (shell.json) return 0;
    if (list.length === 0)
      shell.say('there are no rules; write: export const alerts = { channels: [ … ] } in the job module');
    else
      shell.say(
        await drawTable(
          [
            { title: 'rule' },
            { title: 'fires when', flexible: true },
            { title: 'about', flexible: true },
            { title: 'notifies', flexible: true },
          ],
          list.map(({ name, condition, only, channels: names }) => [
            name,
            condition,
            only?.join(', ') ?? 'all',
            names.join(', '),
          ]),
        ),
      );
    return 0;
  });
}

async function channels(shell: Shell, _flags: CommonOptions): Promise<number> {
  return await withTock(shell, {}, async ({ tock }) => {
    const [list, deliveries] = [await tock.alerts.channels(), await tock.alerts.deliveries()];
    shell.document({ channels: list, deliveries });
    if (shell.json) return 0;
    if (list.length === 0)
      shell.say('there are no channels; write: export const alerts = { channels: [ … ] } in the job module');
    else
      shell.say(
        await drawTable(
          [
            { title: 'channel' },
            { title: 'kind' },
            { title: 'to', flexible: true },
            { title: 'last message', flexible: true },
          ],
          list.map(({ name, kind, target }) => [
            name,
            kind,
            target,
            lastText(deliveries.find(({ channel }) => channel === name)),
          ]),
        ),
      );
    return 0;
  });
}

function lastText(delivery: ChannelDelivery | undefined): string {
  if (delivery === undefined) return 'none';
  const { deliveredAt, runId, error } = delivery;
  const at = deliveredAt === null ? '' : ` ${relative(deliveredAt)}`;
  return `${deliveryState(delivery)}${at} (run ${runId})${error === null ? '' : `: ${error}`}`;
}

async function log(shell: Shell, { limit }: LogFlags): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const flips = await tock.alerts.flips({ limit });
    shell.document({ flips });
    if (shell.json) return 0;
    if (flips.length === 0) shell.say('nothing has gone down');
    else
      shell.say(
        await drawTable(
          [
            { title: 'when' },
            { title: 'alert' },
            { title: 'about', flexible: true },
            { title: 'what' },
            { title: 'why', flexible: true },
          ],
          flips.map(({ at, rule, subject, kind, detail }) => [
            relative(at),
            rule,
            subject,
            {
              text: kind === 'up' ? 'recovered' : kind,
              colour: kind === 'up' ? ('green' as const) : ('red' as const),
            },
            detail,
          ]),
        ),
      );
    return 0;
  });
}
