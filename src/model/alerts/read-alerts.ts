// Checks the option `alerts`, and fills in its defaults.
import { type Duration, parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { checkName, quote } from '../names.js';
import { nearMisses } from '../nearest.js';
import { checkOptions, optionNames } from '../options.js';
import { checkZoneName } from '../schedule/zone/zone-names.js';
import type {
  AlertChannelOptions,
  AlertOptions,
  AlertRule,
  AlertWhen,
  CommandChannel,
  MailChannel,
  SlackChannel,
  TickHeartbeat,
  WebhookChannel,
} from './options.js';
import { readSource, type Source } from './sources.js';

/** A rule with its defaults. Durations in milliseconds. */
export interface Rule {
  readonly name: string;
  readonly when: AlertWhen;
  /** `failing`: how many failed attempts in a row. */
  readonly times: number;
  /** `waiting`, `silent`. */
  readonly longerThanMs: number;
  /** Only these subjects: names of definitions, jobs or queues. Null: all. */
  readonly only: ReadonlySet<string> | null;
  readonly channels: readonly string[];
  /** Null: no reminders. */
  readonly remindMs: number | null;
}

interface ChannelBase {
  readonly name: string;
  readonly timeoutMs: number;
  /** Of the times in its messages; null: that of the definition. */
  readonly timezone: string | null;
}

/** A channel with its defaults. */
export type Channel = ChannelBase &
  (
    | { readonly kind: 'webhook'; readonly url: Source; readonly secret: Source; readonly insecure: boolean }
    | { readonly kind: 'slack'; readonly url: Source; readonly insecure: boolean }
    | {
        readonly kind: 'mail';
        readonly to: readonly string[];
        readonly from: string;
        readonly smtp: Source;
        readonly insecure: boolean;
      }
    | { readonly kind: 'command'; readonly command: readonly string[]; readonly env: readonly string[] }
  );

export interface Heartbeat {
  readonly url: string;
  readonly failUrl: string | null;
  readonly timeoutMs: number;
}

export interface Alerting {
  readonly rules: readonly Rule[];
  readonly channels: ReadonlyMap<string, Channel>;
  readonly heartbeat: Heartbeat | null;
  /** The dashboard's address, without a slash at its end; null: messages have no links. */
  readonly dashboard: string | null;
}

const OPTIONS = optionNames<AlertOptions>({
  channels: true,
  rules: true,
  heartbeat: true,
  dashboard: true,
});
const HEARTBEAT = optionNames<TickHeartbeat>({ url: true, failUrl: true, timeout: true });
const ANY_CHANNEL = { name: true, timeout: true, timezone: true } as const;
const NETWORK = { ...ANY_CHANNEL, insecure: true } as const;
const CHANNELS = {
  webhook: optionNames<WebhookChannel>({ ...NETWORK, webhook: true, secret: true }),
  slack: optionNames<SlackChannel>({ ...NETWORK, slack: true }),
  mail: optionNames<MailChannel>({ ...NETWORK, mail: true, from: true, smtp: true }),
  command: optionNames<CommandChannel>({ ...ANY_CHANNEL, command: true, env: true }),
};
const ANY_RULE = ['when', 'name', 'channels', 'remind'];
const OF_DEFINITIONS = [...ANY_RULE, 'definitions'];
const RULES: Readonly<Record<AlertWhen, ReadonlySet<string>>> = {
  failing: new Set([...OF_DEFINITIONS, 'times']),
  dead: new Set(OF_DEFINITIONS),
  late: new Set(OF_DEFINITIONS),
  'running-long': new Set(OF_DEFINITIONS),
  waiting: new Set([...ANY_RULE, 'longerThan', 'queues']),
  silent: new Set([...ANY_RULE, 'longerThan']),
  broken: new Set(OF_DEFINITIONS),
};
const KINDS = Object.keys(RULES) as AlertWhen[];

const MAX_TIMEOUT_MS = 60_000;
const MAX_HEARTBEAT_MS = 30_000;
const MIN_MS = 1000;

/**
 * Reads the option `alerts`. Secrets are not read yet.
 * @throws TockError TOCK_BAD_OPTION, with the nearest name; TOCK_BAD_DURATION
 */
export function readAlerts(options: AlertOptions): Alerting {
  checkOptions(options, OPTIONS, 'alerts');
  const channels = new Map<string, Channel>();
  for (const [index, given] of listOf(options.channels, 'alerts.channels').entries()) {
    const channel = readChannel(given, `channel ${index} of alerts`);
    if (channels.has(channel.name))
      throw badAlerts(`two channels of alerts are named ${quote(channel.name)}; give one another name`);
    channels.set(channel.name, channel);
  }
  const isOnlyHeartbeat = options.channels === undefined && options.rules === undefined;
  const given = options.rules ?? (isOnlyHeartbeat ? [] : KINDS.map(when => ({ when })));
  const rules = listOf(given, 'alerts.rules').map((rule, index) =>
    readRule(rule, `rule ${index} of alerts`, [...channels.keys()]),
  );
  const twice = rules.find((rule, index) => rules.findIndex(({ name }) => name === rule.name) !== index);
  if (twice) throw badAlerts(`two rules of alerts are named ${quote(twice.name)}; give one another name`);
  return {
    rules,
    channels,
    heartbeat: options.heartbeat === undefined ? null : readHeartbeat(options.heartbeat),
    dashboard: options.dashboard === undefined ? null : readDashboard(options.dashboard),
  };
}

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION */
export function readHeartbeat(given: TickHeartbeat, what = 'heartbeat'): Heartbeat {
  checkOptions(given, HEARTBEAT, what);
  return {
    url: checkUrl(given.url, `${what}.url`),
    failUrl: given.failUrl === undefined ? null : checkUrl(given.failUrl, `${what}.failUrl`),
    timeoutMs: boundedDuration(given.timeout ?? '5s', `${what}.timeout`, 1, MAX_HEARTBEAT_MS),
  };
}

/** Links are made of it, so that it has neither a password nor a query. */
function readDashboard(url: unknown): string {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : null;
  if (
    parsed !== null &&
    /^https?:$/.test(parsed.protocol) &&
    `${parsed.username}${parsed.password}${parsed.search}${parsed.hash}` === ''
  )
    return parsed.href.replace(/\/+$/, '');
  throw badAlerts('alerts.dashboard is not an address such as https://ops.example.com/tock');
}

function checkUrl(url: unknown, what: string): string {
  if (typeof url === 'string' && /^https?:\/\//i.test(url) && URL.canParse(url)) return url;
  // The path of such a URL is a secret.
  throw badAlerts(`${what} is not a URL that begins with https://`);
}

function readChannel(given: unknown, what: string): Channel {
  const kinds = Object.keys(CHANNELS) as (keyof typeof CHANNELS)[];
  const isObject = typeof given === 'object' && given !== null;
  const kind = kinds.find(each => isObject && (given as Record<string, unknown>)[each] !== undefined);
  if (kind === undefined) {
    const near = isObject ? Object.keys(given).flatMap(name => nearMisses(name, kinds)) : [];
    const meant = near[0] === undefined ? '' : `; did you mean ${near[0]}?`;
    throw badAlerts(`${what} has none of ${kinds.join(', ')}${meant}`);
  }
  checkOptions(given, CHANNELS[kind], `${what} (${kind})`);
  const { name = kind, timeout = '10s', timezone } = given as AlertChannelOptions;
  if (timezone !== undefined) checkZoneName(timezone);
  const base = {
    name: checkName(name, 'channel', 'TOCK_BAD_OPTION'),
    timeoutMs: boundedDuration(timeout, `${what}: timeout`, 1, MAX_TIMEOUT_MS),
    timezone: timezone ?? null,
  };
  if (kind === 'command') {
    const { command, env = [] } = given as CommandChannel;
    if (!isTexts(command) || command.length === 0 || command[0] === '')
      throw badAlerts(
        `${what}: command must be a list of texts, the program first, as in ['/usr/local/bin/page', '--now']`,
      );
    if (!isTexts(env)) throw badAlerts(`${what}: env must be a list of names of environment variables`);
    return { ...base, kind, command: [...command], env: [...env] };
  }
  const { insecure = false } = given as { insecure?: boolean };
  if (typeof insecure !== 'boolean') throw badAlerts(`${what}: insecure must be true or false`);
  if (kind === 'webhook') {
    const { webhook, secret } = given as WebhookChannel;
    if (typeof secret === 'string')
      throw badAlerts(`${what}: secret must not stand in code; write { env: 'NAME' } or { file: 'path' }`);
    return {
      ...base,
      kind,
      url: readSource(webhook, `${what}: webhook`),
      secret: readSource(secret, `${what}: secret`),
      insecure,
    };
  }
  if (kind === 'slack')
    return { ...base, kind, url: readSource((given as SlackChannel).slack, `${what}: slack`), insecure };
  const { mail, from, smtp } = given as MailChannel;
  const to = typeof mail === 'string' ? [mail] : mail;
  if (!isTexts(to) || to.length === 0 || to.some(address => !isAddress(address)))
    throw badAlerts(`${what}: mail must be an address, or a list of addresses`);
  if (typeof from !== 'string' || !isAddress(from))
    throw badAlerts(`${what}: from must be an address, as in 'Tock <tock@example.com>'`);
  return { ...base, kind, to: [...to], from, smtp: readSource(smtp, `${what}: smtp`), insecure };
}

const isTexts = (list: unknown): list is readonly string[] =>
  Array.isArray(list) && list.every(each => typeof each === 'string');

const isAddress = (text: string) => /^[^\r\n]*[^\s@<]@[^\s@>]+>?$/.test(text);

function readRule(given: AlertRule, what: string, channels: readonly string[]): Rule {
  const when = (given as Partial<AlertRule> | null)?.when;
  if (when === undefined || !Object.hasOwn(RULES, when)) {
    const near = typeof when === 'string' ? nearMisses(when, KINDS) : [];
    const meant = near[0] === undefined ? `; write one of ${KINDS.join(', ')}` : `; did you mean ${near[0]}?`;
    throw badAlerts(`${what}: when ${quote(when)} is no condition${meant}`);
  }
  checkOptions(given, RULES[when], `${what} (${when})`);
  const rule = given as AlertRule & {
    readonly times?: number;
    readonly longerThan?: Duration;
    readonly definitions?: readonly string[];
    readonly queues?: readonly string[];
  };
  const { name = when, times = 3, remind = '1d', definitions, queues } = rule;
  if (!Number.isInteger(times) || times < 1 || times > 1_000_000)
    throw badAlerts(`${what}: times ${quote(times)} is not a whole number from 1 to 1000000`);
  const only = definitions ?? queues;
  if (only !== undefined && !isTexts(only))
    throw badAlerts(`${what}: definitions and queues are lists of names`);
  for (const each of only ?? [])
    checkName(each, queues === undefined ? 'definition' : 'queue', 'TOCK_BAD_OPTION');
  const longerThan = rule.longerThan ?? (when === 'silent' ? '10m' : '15m');
  return {
    name: checkName(name, 'rule', 'TOCK_BAD_OPTION'),
    when,
    times,
    longerThanMs: boundedDuration(longerThan, `${what}: longerThan`, MIN_MS, Number.POSITIVE_INFINITY),
    only: only === undefined ? null : new Set(only),
    channels: readChannelNames(rule.channels, what, channels),
    remindMs:
      remind === false ? null : boundedDuration(remind, `${what}: remind`, 60_000, Number.POSITIVE_INFINITY),
  };
}

function readChannelNames(
  given: readonly string[] | undefined,
  what: string,
  channels: readonly string[],
): readonly string[] {
  if (given === undefined) return channels;
  for (const name of listOf(given, `${what}: channels`)) {
    if (channels.includes(name)) continue;
    const near = typeof name === 'string' ? nearMisses(name, channels) : [];
    const meant =
      near[0] === undefined ? `; there are ${channels.join(', ') || 'none'}` : `; did you mean ${near[0]}?`;
    throw badAlerts(`${what} names the channel ${quote(name)}, which there is not${meant}`);
  }
  return [...new Set(given)];
}

function boundedDuration(value: Duration, what: string, min: number, max: number): number {
  const ms = parseDuration(value, what);
  if (ms >= min && ms <= max) return ms;
  throw badAlerts(
    Number.isFinite(max)
      ? `${what} ${quote(value)} is not between ${min}ms and ${max / 1000}s`
      : `${what} ${quote(value)} is less than ${min / 1000}s`,
  );
}

function listOf<T>(list: readonly T[] | undefined, what: string): readonly T[] {
  if (list === undefined) return [];
  if (Array.isArray(list)) return list as readonly T[];
  throw badAlerts(`${what} is ${quote(list)}; write a list`);
}

const badAlerts = (message: string) => new TockError('TOCK_BAD_OPTION', message);
