// TypeScript for imported lines: one definition each, with the line that it comes from.
import { toCamelCase } from './camel-case.js';
import type { ImportedJob, TakenLine } from './translate.js';

/** Where the lines come from, for the comments. */
export interface ImportedFrom {
  /** Such as `crontab of app`. */
  readonly source: string;
  readonly host: string;
  readonly lines: readonly TakenLine[];
}

/** A module that exports the definitions, and `importedJobs`, the list of them. */
export function jobCode(sources: readonly ImportedFrom[]): string {
  const environments = sharedEnvironments(sources);
  const identifiers = new Map<string, string>();
  for (const { job } of sources.flatMap(({ lines }) => lines))
    identifiers.set(job.name, toCamelCase(job.name, new Set([...identifiers.values(), ...environments.values()])));
  const blocks = sources.flatMap(({ source, host, lines }) =>
    lines.map(line => definition(line, `${source} on ${host}`, identifiers, environments)),
  );
  const constants = [...environments].map(
    ([key, name]) => `const ${name} = ${objectText(JSON.parse(key) as Record<string, string>, '')};\n`,
  );
  const names = [...identifiers.values()];
  return [
    '// Imported from cron by `tock import crontab`. Review each definition; then add importedJobs to the job module:',
    '//   export const jobs = [...importedJobs];',
    "import { defineShellJob } from 'pg-tock';",
    '',
    ...(constants.length === 0 ? [] : [...constants]),
    ...blocks,
    `export const importedJobs = [${names.length === 0 ? '' : `\n${names.map(name => `  ${name},\n`).join('')}`}];`,
    '',
  ].join('\n');
}

/** Environments that more than one definition has, by their JSON; each becomes a constant. */
function sharedEnvironments(sources: readonly ImportedFrom[]): Map<string, string> {
  const counts = new Map<string, number>();
  for (const { job } of sources.flatMap(({ lines }) => lines)) {
    const key = JSON.stringify(job.env);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const shared = [...counts].filter(([, count]) => count > 1).map(([key]) => key);
  return new Map(shared.map((key, index) => [key, index === 0 ? 'environment' : `environment${index + 1}`]));
}

function definition(
  { entry, job, differences }: TakenLine,
  from: string,
  identifiers: ReadonlyMap<string, string>,
  environments: ReadonlyMap<string, string>,
): string {
  const comments = [`${from}, line ${entry.line}: ${entry.text.trim()}`, ...differences.map(each => `Note: ${each}`)];
  const environment = environments.get(JSON.stringify(job.env));
  const lines = [
    ...comments.map(comment => `// ${oneLine(comment)}`),
    `export const ${identifiers.get(job.name) ?? ''} = defineShellJob({`,
    `  name: ${literal(job.name)},`,
    `  schedule: { ${scheduleText(job)} },`,
    job.shellProgram === null
      ? `  shell: ${literal(job.shell)},`
      : `  command: [${literal(job.shellProgram)}, '-c', ${literal(job.shell)}],`,
    ...(job.cwd === null ? [] : [`  cwd: ${literal(job.cwd)},`]),
    `  env: ${environment ?? objectText(job.env, '  ')},`,
    ...(job.stdin === null ? [] : [`  stdin: ${literal(job.stdin)},`]),
    ...(job.queue === null ? [] : [`  queue: ${literal(job.queue)},`]),
    '  // As under cron: what fails waits for its next time.',
    '  retry: { maxAttempts: 1 },',
    '});',
    '',
  ];
  return lines.join('\n');
}

function scheduleText({ cron, timezone, dst, jitter }: ImportedJob): string {
  const parts = [
    `cron: ${literal(cron)}`,
    `timezone: ${literal(timezone)}`,
    ...(dst === null ? [] : [`dst: ${literal(dst)}`]),
    ...(jitter === null ? [] : [`jitter: ${literal(jitter)}`]),
  ];
  return parts.join(', ');
}

function objectText(values: Readonly<Record<string, string>>, indent: string): string {
  const entries = Object.entries(values).map(
    ([name, value]) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name)}: ${literal(value)}`,
  );
  const short = `{ ${entries.join(', ')} }`;
  if (short.length <= 80) return short;
  return `{\n${entries.map(entry => `${indent}  ${entry},\n`).join('')}${indent}}`;
}

/** Line ends of Unicode, and characters that change the direction of text. */
const HIDDEN = /[\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

/** A string as TypeScript, in the quotes that need fewer escapes. */
function literal(text: string): string {
  const json = JSON.stringify(text).replace(
    HIDDEN,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  if (text.includes("'")) return json;
  return `'${json.slice(1, -1).replaceAll(String.raw`\"`, '"')}'`;
}

/** For a comment: no character of it can end the line. */
function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001F]+/g, ' ').replace(HIDDEN, '');
}
