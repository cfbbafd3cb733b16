// TypeScript for imported jobs: one definition each, with what it comes from in comments.
import { showHidden } from '../../model/hidden-characters.js';
import { toCamelCase } from './camel-case.js';

/** A definition to be written. */
export interface CodeJob {
  readonly name: string;
  /** One line each. */
  readonly comments: readonly string[];
  /** The options of a schedule, in the order in which they are written. */
  readonly schedule: Readonly<Record<string, unknown>>;
  /** A text for /bin/sh, or a program with its arguments; both null: it has a handler. */
  readonly shell: string | null;
  readonly command: readonly string[] | null;
  /** The handler, as code. */
  readonly run?: string;
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | null;
  readonly queue: string | null;
  /** A duration. */
  readonly timeout: string | null;
  /** As code. Default: one attempt, as before. */
  readonly retry?: string;
  /** Lower goes first. */
  readonly priority?: number;
}

/** What stands in a module before its definitions. */
export interface CodeHead {
  /** Lines that import; `pg-tock` itself is imported anyway. */
  readonly imports?: readonly string[];
  /** Names from `pg-tock`, besides those of the definitions. */
  readonly names?: readonly string[];
  /** Functions that the handlers call, and the names that they take. */
  readonly functions?: readonly string[];
  readonly taken?: ReadonlySet<string>;
}

/**
 * A module that exports the definitions, and `importedJobs`, the list of them.
 * @param origin what they are imported from, and by which command
 */
export function jobCode(jobs: readonly CodeJob[], origin: string, head: CodeHead = {}): string {
  const environments = sharedEnvironments(jobs);
  const identifiers = new Set([...environments.values(), ...(head.taken ?? [])]);
  const named = jobs.map(job => {
    const identifier = toCamelCase(job.name, identifiers);
    identifiers.add(identifier);
    return { job, identifier };
  });
  const constants = [...environments].map(
    ([key, name]) => `const ${name} = ${objectText(JSON.parse(key) as Record<string, string>, '')};\n`,
  );
  const list = named.map(({ identifier }) => `  ${identifier},\n`).join('');
  return [
    `// Imported from ${origin}. Review each definition; then add importedJobs to the job module:`,
    '//   export const jobs = [...importedJobs];',
    ...(head.imports ?? []),
    `import { ${namesOf(jobs, head).join(', ')} } from 'pg-tock';`,
    '',
    ...constants,
    ...(head.functions ?? []).map(each => `${each}\n`),
    ...named.map(({ job, identifier }) => definition(job, identifier, environments)),
    `export const importedJobs = [${list === '' ? '' : `\n${list}`}];`,
    '',
  ].join('\n');
}

function namesOf(jobs: readonly CodeJob[], { names = [] }: CodeHead): string[] {
  const makers = jobs.map(({ run }) => (run === undefined ? 'defineShellJob' : 'defineJob'));
  const all = [...new Set([...(jobs.length === 0 ? ['defineShellJob'] : makers), ...names])];
  const bare = (name: string) => name.replace('type ', '');
  return all.sort((a, b) => (bare(a) < bare(b) ? -1 : 1));
}

/** Environments that more than one definition has, by their JSON; each becomes a constant. */
function sharedEnvironments(jobs: readonly CodeJob[]): Map<string, string> {
  const counts = new Map<string, number>();
  for (const { env } of jobs) {
    const key = JSON.stringify(env);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const shared = [...counts].filter(([key, count]) => count > 1 && key !== '{}').map(([key]) => key);
  return new Map(shared.map((key, index) => [key, index === 0 ? 'environment' : `environment${index + 1}`]));
}

function definition(job: CodeJob, identifier: string, environments: ReadonlyMap<string, string>): string {
  const environment = environments.get(JSON.stringify(job.env)) ?? objectText(job.env, '  ');
  const options: readonly (readonly [name: string, text: string | null])[] = [
    ['name', literal(job.name)],
    ['schedule', Object.keys(job.schedule).length === 0 ? null : valueText(job.schedule)],
    ['shell', job.shell === null ? null : literal(job.shell)],
    ['command', job.command === null ? null : valueText(job.command)],
    ['cwd', job.cwd === null ? null : literal(job.cwd)],
    ['env', Object.keys(job.env).length === 0 ? null : environment],
    ['stdin', job.stdin === null ? null : literal(job.stdin)],
    ['queue', job.queue === null ? null : literal(job.queue)],
    ['timeout', job.timeout === null ? null : literal(job.timeout)],
    ['priority', job.priority === undefined ? null : String(job.priority)],
    ['retry', job.retry ?? null],
  ];
  return [
    ...job.comments.map(comment => `// ${oneLine(comment)}`),
    `export const ${identifier} = ${job.run === undefined ? 'defineShellJob' : 'defineJob'}({`,
    ...written(options),
    ...(job.retry === undefined ? ONE_ATTEMPT : []),
    ...written([['run', job.run ?? null]]),
    '});',
    '',
  ].join('\n');
}

const ONE_ATTEMPT = ['  // As before: what fails waits for its next time.', '  retry: { maxAttempts: 1 },'];

const written = (options: readonly (readonly [string, string | null])[]): string[] =>
  options.flatMap(([name, text]) => (text === null ? [] : [`  ${name}: ${text},`]));

/** JSON as code. */
export function valueText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  if (typeof value === 'string') return literal(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value).map(([name, each]) => `${propertyName(name)}: ${valueText(each)}`);
  return `{ ${entries.join(', ')} }`;
}

function objectText(values: Readonly<Record<string, string>>, indent: string): string {
  const entries = Object.entries(values).map(([name, value]) => `${propertyName(name)}: ${literal(value)}`);
  const short = `{ ${entries.join(', ')} }`;
  if (short.length <= 80) return short;
  return `{\n${entries.map(entry => `${indent}  ${entry},\n`).join('')}${indent}}`;
}

function propertyName(name: string): string {
  // Without the brackets it would be the prototype.
  if (name === '__proto__') return "['__proto__']";
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name);
}

/** A string as TypeScript, in the quotes that need fewer escapes. */
export function literal(text: string): string {
  const json = showHidden(JSON.stringify(text));
  if (text.includes("'")) return json;
  return `'${json.slice(1, -1).replaceAll(String.raw`\"`, '"')}'`;
}

/** For a comment: no character of it can end the line. */
function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return showHidden(text.replace(/[\u0000-\u001F]+/g, ' '));
}
