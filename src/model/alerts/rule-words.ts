// Rules and channels as people see them. What may be a secret is left out.
import { formatSpan } from '../duration.js';
import type { AlertWhen } from './options.js';
import type { Channel, Rule } from './read-alerts.js';
import type { Source } from './sources.js';

/** A rule of this process, with its defaults. */
export interface AlertRuleRecord {
  readonly name: string;
  readonly when: AlertWhen;
  /** When it fires, in words. */
  readonly condition: string;
  /** Names of definitions, jobs or queues that it is about; null: all. */
  readonly only: readonly string[] | null;
  readonly channels: readonly string[];
  /** In milliseconds; null: no reminders. */
  readonly remindMs: number | null;
}

/** A channel of this process. */
export interface AlertChannelRecord {
  readonly name: string;
  readonly kind: 'webhook' | 'slack' | 'mail' | 'command';
  /** Where it sends: a host, the name of a variable or a file, addresses, a program. Never a secret. */
  readonly target: string;
  readonly timeoutMs: number;
}

const CONDITIONS: Readonly<Record<AlertWhen, (rule: Rule) => string>> = {
  failing: ({ times }) => (times === 1 ? 'an attempt has failed' : `${times} attempts in a row have failed`),
  dead: () => 'a run has ended dead',
  late: () => 'no run has succeeded in the time after an occurrence that expect.within allows',
  'running-long': () => 'an attempt takes longer than expect.maxDuration allows',
  waiting: ({ longerThanMs }) => `a due run has waited for longer than ${formatSpan(longerThanMs)}`,
  silent: ({ longerThanMs }) => `a host has not ticked for longer than ${formatSpan(longerThanMs)}`,
  broken: () => 'a definition cannot be evaluated, or has paused itself',
};

export function describeRule(rule: Rule): AlertRuleRecord {
  const { name, when, only, channels, remindMs } = rule;
  return { name, when, condition: CONDITIONS[when](rule), only: only && [...only], channels, remindMs };
}

export function describeChannel(channel: Channel): AlertChannelRecord {
  const { name, kind, timeoutMs } = channel;
  return { name, kind, target: targetOf(channel), timeoutMs };
}

function targetOf(channel: Channel): string {
  if (channel.kind === 'webhook' || channel.kind === 'slack') return sourceText(channel.url);
  if (channel.kind === 'mail') return `${channel.to.join(', ')} by ${sourceText(channel.smtp)}`;
  // Arguments may hold a token.
  return `${channel.command[0]}${channel.command.length > 1 ? ' …' : ''}`;
}

/** Of a URL the host alone: its path, its user and its password may be secrets. */
function sourceText(source: Source): string {
  if (source.from === 'env') return `$${source.name}`;
  if (source.from === 'file') return source.path;
  return URL.canParse(source.value) ? new URL(source.value).host : 'a URL that cannot be read';
}
