// Names for the definitions of a crontab's lines, from their commands.

/** Words before the command that say how it runs, each with the options and arguments that belong to it. */
const WRAPPERS = new RegExp(
  `^(?:${[
    String.raw`\(`,
    String.raw`cd\s+\S+\s*(?:&&|;)`,
    String.raw`(?:\[\s[^\]]*\]|test\s[^&;|]*|command\s+-v\s[^&;|]*|which\s[^&;|]*)\s*(?:&&|\|\||;)`,
    String.raw`[A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|[^\s;]*)\s*(?:;|&&)?`,
    String.raw`(?:\.|source)\s+\S+\s*(?:&&|;)`,
    String.raw`(?:export|set|umask|ulimit|sleep)\s[^&;|]*(?:&&|;)`,
    String.raw`(?:exec|nohup|time|command|chronic|cronic|setsid|env)\s`,
    String.raw`nice(?:\s+-(?:n\s*)?-?\d+)?\s`,
    String.raw`ionice(?:\s+-[a-z](?:\s*\d+)?)*\s`,
    String.raw`timeout(?:\s+-\S+)*\s+\S+\s`,
    String.raw`flock(?:\s+-[a-z]+(?:\s+\d+)?)*\s+\S+(?:\s+-c)?\s`,
    String.raw`sudo(?:\s+-u\s+\S+|\s+-[a-zA-Z]+)*\s`,
    String.raw`su\s+(?:-\s+)?\S+\s+(?:-s\s+\S+\s+)?-c\s`,
    String.raw`[{"']`,
  ].join('|')})\\s*`,
);
/** Programs that are named after the script that they execute. */
const INTERPRETER =
  /^(?:ba|da|z|k)?sh$|^(?:python|php|perl|ruby|node|deno|bun|java|Rscript)[\d.]*$|^(?:bundle|npx|npm|pnpm|yarn|docker-compose|xvfb-run|run-parts|exec)$/;
const SCRIPT_RUNNER =
  /(?:^|\/)(?:manage\.py|artisan|console|rake|bin\/rails|occ|wp|drush|magento|certbot|docker|yii)$/;
const MAX_LENGTH = 60;
const LOOKED_AT = 1000;

/** A name for a command: `nice php /srv/app/artisan schedule:run >> log` is `artisan-schedule-run`. */
export function nameOfCommand(command: string): string {
  let rest = command.slice(0, LOOKED_AT).trim();
  for (let count = 0; count < 20; count++) {
    const [wrapper] = WRAPPERS.exec(rest) ?? [];
    if (wrapper === undefined || wrapper.length === rest.length) break;
    rest = rest.slice(wrapper.length);
  }
  const words = (/^[^|;&<>]*/.exec(rest)?.[0] ?? '').trim().split(/\s+/).filter(isTelling);
  while (words.length > 1 && INTERPRETER.test(baseOf(words[0] ?? ''))) words.shift();
  const [first = '', second = ''] = words;
  const runs = SCRIPT_RUNNER.test(unquoted(first)) && isPlain(second);
  const name = slug(runs ? `${baseOf(first)} ${unquoted(second)}` : baseOf(first));
  return name === '' ? 'line' : name;
}

/** Options, numbers and redirections say nothing about what a command does. */
function isTelling(word: string): boolean {
  return !/^-|^\d?>|^\d+$|^[A-Za-z_]\w*=/.test(word) && /[A-Za-z]/.test(word);
}

const isPlain = (word: string): boolean => /^['"]?[A-Za-z][\w:.-]*['"]?$/.test(word);
const unquoted = (word: string): string => word.replace(/^['"({]+|['")}]+$/g, '');
const baseOf = (word: string): string => unquoted(word).replace(/\/+$/, '').replace(/^.*\//, '');

function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/\.(?:sh|bash|py|php|pl|rb|js|mjs|cjs|ts|jar|phar|bin|exe|cron)\b/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, MAX_LENGTH)
    .replace(/-+$/, '');
}

/** The name, or `backup-2` if there is a `backup`. It is added to the taken ones. */
export function uniqueName(name: string, taken: Set<string>): string {
  let unique = name;
  for (let count = 2; taken.has(unique); count++) unique = `${name}-${count}`;
  taken.add(unique);
  return unique;
}
