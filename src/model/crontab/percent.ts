// The percent signs of a crontab's command: the first one ends the command, the rest is its standard input.

export interface SplitCommand {
  readonly command: string;
  /** Null: the command gets an empty standard input. */
  readonly stdin: string | null;
}

/** Splits a command as cron does: `%` ends it, later ones are line ends, `\%` is a percent sign. */
export function splitAtPercent(text: string): SplitCommand {
  let command = '';
  let escaped = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (escaped && char === '%') command = command.slice(0, -1);
    else if (char === '%') return { command, stdin: inputOf(text.slice(at + 1)) };
    escaped = !escaped && char === '\\';
    command += char;
  }
  return { command, stdin: null };
}

/** A line end is added where the last line lacks one. */
function inputOf(text: string): string {
  let input = '';
  let escaped = false;
  for (const char of text) {
    if (escaped && char !== '%') input += '\\';
    const written = !escaped && char === '%' ? '\n' : char;
    escaped = char === '\\';
    if (!escaped) input += written;
  }
  if (escaped) input += '\\';
  return input === '' || input.endsWith('\n') ? input : `${input}\n`;
}
