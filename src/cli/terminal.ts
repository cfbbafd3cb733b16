// Terminal output: colours, text without control sequences.
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { isClone, packageFolder } from '../environment/paths.js';
import { showHidden } from '../model/hidden-characters.js';
import { deepJsonText } from '../model/json-depth.js';
import type { RunStatus } from '../model/run/states.js';
import { shellWord } from '../model/shell-word.js';

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36, grey: 90 } as const;
export type Colour = keyof typeof CODES;

export const STATUS_COLOURS: Readonly<Record<RunStatus, Colour | null>> = {
  queued: null,
  running: 'cyan',
  failed: 'yellow',
  succeeded: 'green',
  dead: 'red',
  cancelled: 'magenta',
  skipped: 'grey',
};

/** Whether a stream gets colours: NO_COLOR says no, FORCE_COLOR yes; otherwise only terminals do. */
export function hasColours(stream: NodeJS.WriteStream): boolean {
  const { NO_COLOR: no, FORCE_COLOR: force, TERM: term } = process.env;
  if (no) return false;
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false';
  return stream.isTTY && term !== 'dumb';
}

/** Colours a text if standard output (or the given stream) has colours. */
export function paint(
  colour: Colour | null,
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  return colour === null || text === '' || !hasColours(stream)
    ? text
    : `\u001B[${CODES[colour]}m${text}\u001B[0m`;
}

export function paintStatus(status: RunStatus): string {
  return paint(STATUS_COLOURS[status], status);
}

/** Keeps line ends; takes colours out, and escapes anything else that could control a terminal. */
export function cleanBlock(text: string): string {
  const lines = stripVTControlCharacters(text).replace(/\r\n?/g, '\n').replaceAll('\t', '  ');
  return showHidden(lines).toWellFormed();
}

/** {@link cleanBlock} on one line. */
export function cleanLine(text: string): string {
  return cleanBlock(text)
    .replace(/\s*\n\s*/g, ' ')
    .trim();
}

const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}/u;
const ZERO = /\p{Mn}|\p{Me}|\u200D|\uFE0F/u;

function widthOfChar(char: string): number {
  if (char <= '\u007E') return 1;
  return ZERO.test(char) ? 0 : WIDE.test(char) ? 2 : 1;
}

/** How many columns a text takes in a terminal, without its colours. */
export function widthOf(text: string): number {
  let width = 0;
  for (const char of stripVTControlCharacters(text)) width += widthOfChar(char);
  return width;
}

/** Cuts a text without colours to a width; `…` marks the cut. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  let used = 1;
  for (const char of text) {
    used += widthOfChar(char);
    if (used > width) break;
    kept += char;
  }
  return `${kept.trimEnd()}…`;
}

/** As {@link cut}, but the end is kept. */
export function cutStart(text: string, width: number): string {
  const backwards = (each: string) => Array.from(each).toReversed().join('');
  return widthOf(text) <= width ? text : backwards(cut(backwards(text), width));
}

/** Columns of the terminal; null if the stream is not one: then nothing is cut. */
export function terminalWidth(stream: NodeJS.WriteStream = process.stdout): number | null {
  return stream.isTTY ? Math.max(stream.columns || 80, 20) : null;
}

/**
 * JSON for printing: control characters are escaped, which a parser reads as the same value. One value that
 * is nested too deep does not hide the others.
 */
export function jsonText(value: unknown, indent?: number): string {
  return showHidden(deepJsonText(value, indent));
}

// How Tock is called here. At a terminal, commands in what is printed are written so that they can be pasted.

/** All that follow `tock`; a test compares them with the program's. */
export const COMMANDS =
  'adopt alerts audit backfill calendar cancel capacity complete completion crontab dashboard deploy ' +
  'doctor edit emit errors exec fail freeze group import init jobs key mcp metrics migrate move next pause ' +
  'plan prove prune queue relay reset-cursor resume retry run runs schedule schema show simulate skip ' +
  'start status thaw tick uninstall why zones';

// Not what begins a line that a command prints about itself: `tock run: …`. A colour may stand before it.
const COMMAND = new RegExp(
  `(?:(?<=\\u001B\\[\\d*m)|(?<![\\w/.-]|npx ))tock (?=(?:${COMMANDS.replaceAll(' ', '|')})(?![\\w-]|:))`,
  'g',
);

/** `npx tock` in a project that has the package; `node dist/cli.js` in a clone; else `tock`. */
export function ownCommand(): string {
  const folder = packageFolder();
  if (folder === null) return 'tock';
  const cwd = process.cwd();
  if (isClone()) return `node ${shellWord(path.relative(cwd, path.join(folder, 'dist', 'cli.js')))}`;
  // npx looks in each folder above, too, as a workspace needs.
  const modules = path.dirname(folder);
  const isAbove = `${cwd}${path.sep}`.startsWith(`${path.dirname(modules)}${path.sep}`);
  return path.basename(modules) === 'node_modules' && isAbove ? 'npx tock' : 'tock';
}

/**
 * The text, with each command as it is called. Lines of a table stay: they hold texts of others, and are as
 * wide as their box.
 */
export const asCalled = (text: string, called: string): string =>
  text
    .split('\n')
    .map(line => (line.includes('│') ? line : line.replace(COMMAND, `${called} `)))
    .join('\n');

/** For a terminal; what goes into a pipe, a script may compare. */
export const pasteable = (text: string, stream: NodeJS.WriteStream): string =>
  stream.isTTY ? asCalled(text, ownCommand()) : text;
