// The crontab's line that ticks: reads crontabs as text, and says whether one ticks in this checkout.
import { readTimes } from '../crontab/crontab.js';
import { lastSeenAt } from '../explain/tick-state.js';
import type { Finding } from '../problems.js';
import type { SchedulerStatus } from '../scheduler-view.js';
import { shellWord } from '../shell-word.js';
import { fine, unknown, wrong } from './check.js';

/** A crontab that could be read. */
export interface CrontabText {
  /** Such as `crontab of app`, or a path. */
  readonly source: string;
  /** Each line has a user before the command, as in /etc/cron.d. */
  readonly hasUser: boolean;
  readonly text: string;
}

/** A line that ticks. */
export interface TickLine {
  readonly source: string;
  readonly line: string;
  /** The five fields, or a name such as `@hourly`. */
  readonly when: string;
  readonly command: string;
  readonly isCommentedOut: boolean;
}

const TICKS = /\bdist\/tick\.js\b|\btock\s+(?:-\S+\s+)*tick\b|\bdist\/cli\.js\s+(?:-\S+\s+)*tick\b/;
const ENTRY = /^(@[a-z]+|(?:\S+\s+){4}\S+)\s+(.+)$/;

/** Whether a cron reads it. In cronie's a `-` before it keeps it out of the log. */
const isWhen = (when: string): boolean =>
  typeof readTimes(when, 'debian') !== 'string' ||
  typeof readTimes(when.replace(/^-/, ''), 'cronie') !== 'string';

/** The lines that tick, in any checkout, also those that are commented out. */
export function findTickLines(crontabs: readonly CrontabText[]): TickLine[] {
  return crontabs.flatMap(({ source, hasUser, text }) =>
    text.split('\n').flatMap(written => {
      const line = written.trim();
      const isCommentedOut = line.startsWith('#');
      const [, when = '', rest = ''] = ENTRY.exec(line.replace(/^#\s*/, '')) ?? [];
      const command = hasUser ? rest.replace(/^\S+\s+/, '') : rest;
      return when !== '' && TICKS.test(command) && isWhen(when)
        ? [{ source, line, when, command, isCommentedOut }]
        : [];
    }),
  );
}

/** Whether a command names the folder, as `cd /srv/app` or `/srv/app/dist/tick.js` do. */
export function isIn(written: string, folder: string): boolean {
  // As the shell gets it from cron, and reads it.
  const command = written.replaceAll(String.raw`\%`, '%').replaceAll(`'\\''`, `'`);
  const at = command.indexOf(folder);
  if (at < 0) return false;
  const [before, after] = [command.charAt(at - 1), command.charAt(at + folder.length)];
  return !/[\w.-]/.test(before) && /^(?:$|[\s/'";&])/.test(after);
}

/** What a line in the crontab needs, as this process has it. */
export interface Checkout {
  readonly host: string;
  readonly folder: string;
  /** Absolute paths. */
  readonly node: string;
  readonly tickScript: string;
  /** Variables that name files and settings, never the database's URL itself. */
  readonly variables: Readonly<Record<string, string>>;
  /** The URL is in a variable of this process, which cron will not have. */
  readonly hasUrlInEnvironment: boolean;
  /** The folder's `.env` names the database. */
  readonly isNamedInFile: boolean;
}

export const URL_FILE = '/etc/tock/database-url';
/** A word as a shell reads it, after the name of the variable. */
const NAMES_URL_FILE = /(?<!\S)DATABASE_URL_FILE=((?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+)/;

/** The file with the database's URL that a line which ticks names; null: it names none. */
export function urlFileOf(line: string): string | null {
  const [, word] = NAMES_URL_FILE.exec(line.replaceAll(String.raw`\%`, '%')) ?? [];
  return word?.replace(/'([^']*)'|"([^"]*)"|\\(.)/g, '$1$2$3') ?? null;
}

/**
 * The checkout with the file that holds the database's URL, where cron needs one: the one that is stated, or
 * else that of the installed line.
 */
export function withUrlFile(checkout: Checkout, installed: readonly string[]): Checkout {
  const { variables, hasUrlInEnvironment, isNamedInFile } = checkout;
  const isNamed = isNamedInFile || 'TOCK_DATABASE' in variables || 'TOCK_DATA' in variables;
  if ('DATABASE_URL_FILE' in variables || (isNamed && !hasUrlInEnvironment)) return checkout;
  const kept = installed.map(urlFileOf).find(file => file !== null);
  return kept === undefined
    ? checkout
    : { ...checkout, variables: { ...variables, DATABASE_URL_FILE: kept } };
}

/** The line for the crontab. Cron gives commands almost no environment, so everything is named. */
export function tickLineFor({ folder, node, tickScript, variables, hasUrlInEnvironment }: Checkout): string {
  const { DATABASE_URL_FILE: file = hasUrlInEnvironment ? URL_FILE : null, ...others } = variables;
  const all = file === null ? others : { DATABASE_URL_FILE: file, ...others };
  const settings = Object.entries(all).map(([name, value]) => `${name}=${shellWord(value)} `);
  const command = `cd ${shellWord(folder)} && ${settings.join('')}${shellWord(node)} ${shellWord(tickScript)} >> ${shellWord(`${folder}/tick.log`)} 2>&1`;
  return `* * * * * ${command.replaceAll('%', String.raw`\%`)}`;
}

const MANAGERS: readonly (readonly [name: string, path: RegExp])[] = [
  ['nvm', /\/\.?nvm\/versions\//],
  ['fnm', /\/\.?fnm\/node-versions\//],
  ['Volta', /\/\.volta\/tools\//],
  ['asdf', /\/\.?asdf\/installs\//],
  ['mise', /\/mise\/installs\//],
  ['nodenv', /\/\.?nodenv\/versions\//],
  ['n', /\/n\/versions\/node\//],
  ['Homebrew', /\/Cellar\/node/],
];

/** Whether a program is in a cache of npx, pnpm dlx or bunx, which may be emptied at any time. */
export const isInCache = (file: string): boolean => /\/(?:_npx|dlx(?:-[^/]*)?|bunx-[^/]*)\//.test(file);

/** The program that has installed this node in a folder of its version, which an upgrade leaves; or null. */
export function versionManagerOf(node: string): string | null {
  return MANAGERS.find(([, pattern]) => pattern.test(node))?.[0] ?? null;
}

/** The command that adds the line to the crontab of the user who runs it. */
export function addCommand(checkout: Checkout): string {
  const quoted = `'${tickLineFor(checkout).replaceAll("'", `'\\''`)}'`;
  return `(crontab -l 2>/dev/null; printf '%s\\n' ${quoted}) | crontab -`;
}

const RECENT_MS = 5 * 60_000;

/**
 * @param crontabs null: none could be read, as without cron on the host
 * @param status null: not known
 */
export function checkCrontab(
  crontabs: readonly CrontabText[] | null,
  checkout: Checkout,
  status: Pick<SchedulerStatus, 'ticks' | 'at'> | null,
): Finding {
  const lines = findTickLines(crontabs ?? []);
  const own = lines.filter(({ command }) => isIn(command, checkout.folder));
  const active = own.find(({ isCommentedOut }) => !isCommentedOut);
  if (active !== undefined) return fine(`${active.source}: ${active.line}`);
  const others = (status?.ticks ?? []).filter(
    tick => tick.stoppedAt === null && (status?.at.getTime() ?? 0) - lastSeenAt(tick).getTime() < RECENT_MS,
  );
  const daemon = others.find(({ kind, host }) => kind === 'daemon' && host === checkout.host);
  if (daemon !== undefined)
    return fine(`no line ticks here, and need not: a daemon runs in ${daemon.folder}`);
  const elsewhere = others.find(({ host, folder }) => host !== checkout.host || folder !== checkout.folder);
  if (elsewhere !== undefined && own.length === 0)
    return fine(`no line ticks in ${checkout.folder}; ${elsewhere.host} ticks, in ${elsewhere.folder}`);
  if (crontabs === null)
    return unknown('no crontab could be read here: this host has no cron, or another user’s crontab ticks');
  const command = addCommand(checkout);
  const secret = checkout.hasUrlInEnvironment
    ? `. Cron has no DATABASE_URL: write it into ${URL_FILE}, mode 0600`
    : '';
  const remedy = `Add it to the crontab of the user who is to tick: ${command}${secret}`;
  const [commented] = own;
  if (commented !== undefined)
    return wrong('failing', `the line that ticks is commented out (${commented.source})`, remedy, command);
  const foreign = lines.find(({ isCommentedOut }) => !isCommentedOut);
  const text =
    foreign === undefined
      ? 'no line ticks'
      : `no line ticks here, but ${foreign.source} has: ${foreign.line}`;
  return wrong('failing', `${text}: ${checkout.folder} is not ticked`, remedy, command);
}
