// Says why a job module cannot be loaded: what is wrong, in which file and line, and what to do.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { TockError } from '../model/errors.js';
import { isJob } from '../model/job/define-job.js';
import { quote } from '../model/names.js';
import { didYouMean } from '../model/nearest.js';
import { syntaxErrorPlace } from './syntax-error-place.js';

/** @param thrown by the import of the module */
export function jobModuleFailure(modulePath: string, thrown: unknown): TockError {
  const why = typescriptWords(thrown) ?? missingWords(thrown) ?? thrownWords(thrown, modulePath);
  return new TockError('TOCK_JOBS_NOT_FOUND', `the job module ${modulePath} cannot be loaded: ${why}`, {
    cause: thrown,
  });
}

/** @param jobs what the module exports by that name */
export function noJobsExported(
  modulePath: string,
  exported: Readonly<Record<string, unknown>>,
  jobs: unknown,
): TockError {
  if (Array.isArray(jobs)) {
    const index = jobs.findIndex(each => !isJob(each));
    const what = kindOf(jobs[index]);
    return new TockError(
      'TOCK_BAD_JOB',
      `${modulePath}: element ${index} of jobs was not made by defineJob: it is ${what}`,
    );
  }
  const names = Object.keys(exported).filter(name => name !== 'module.exports');
  const found =
    jobs === undefined
      ? `it exports ${names.length === 0 ? 'nothing' : names.slice(0, 10).join(', ')}${didYouMean('jobs', names)}`
      : `its jobs is ${kindOf(jobs)}`;
  return new TockError(
    'TOCK_JOBS_NOT_FOUND',
    `${modulePath} exports no array named jobs (${found}); write: export const jobs = [ … ]`,
  );
}

function kindOf(value: unknown): string {
  if (value instanceof Promise) return 'a promise: await it';
  return Array.isArray(value) ? 'a list: spread it' : quote(value);
}

const TYPESCRIPT =
  'build it and name the .js file in TOCK_JOBS, or run npm install tsx, or use Node 22.18 or later';

/** Null if TypeScript is not what Node stumbled over. */
function typescriptWords(thrown: unknown): string | null {
  const code = textOf(thrown, 'code');
  const message = textOf(thrown, 'message');
  const at = atText(thrown);
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
    const file = / for (.+)$/m.exec(message)?.[1];
    return /"\.[cm]?tsx?"/.test(message)
      ? `Node ${process.versions.node} cannot execute TypeScript${file === undefined ? '' : ` (${shortPath(file)})`}; ${TYPESCRIPT}`
      : null;
  }
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
    return `${message}${at}; Node only strips types: write it without, build it, or use tsx`;
  if (code === 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING')
    return `${message}; Node does not strip types in node_modules: that package must be built`;
  return null;
}

/** Null if nothing is missing. */
function missingWords(thrown: unknown): string | null {
  const message = textOf(thrown, 'message');
  const [, name] = /^Cannot find (?:package|module) '([^']+)'/.exec(message) ?? [];
  if (name === undefined) return null;
  const file = /' imported from (.+)/.exec(message)?.[1] ?? /\n- (.+)/.exec(message)?.[1];
  if (file === undefined) return `${message.split('\n', 1)[0] ?? ''}${atText(thrown)}`;
  const target = path.isAbsolute(name) ? name : null;
  const found = lineThatImports(file, target ?? name);
  const place = `${shortPath(file)}${found === null ? '' : `:${found.line}`}`;
  const written = found?.specifier ?? name;
  if (target === null && !name.startsWith('.')) {
    const packageName = name
      .split('/')
      .slice(0, name.startsWith('@') ? 2 : 1)
      .join('/');
    return `${place} imports ${quote(written)}, which is not installed; run: npm install ${packageName}`;
  }
  return `${place} imports ${quote(written)}, which does not exist${remedyFor(target, written)}`;
}

function remedyFor(target: string | null, written: string): string {
  if (target === null) return '';
  const source = target.replace(/\.([cm]?)js$/, '.$1ts');
  if (source !== target && existsSync(source))
    return `; ${path.basename(source)} does: Node needs that name in the import, or use tsx, or build`;
  const extension = ['.js', '.mjs', '.cjs', '.ts', '/index.js'].find(each => existsSync(target + each));
  return extension === undefined ? '' : `; write ${quote(written + extension)}`;
}

interface Import {
  readonly line: number;
  readonly specifier: string;
}

/** @param wanted the absolute path of a module, or a package as it is imported */
function lineThatImports(file: string, wanted: string): Import | null {
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    for (const [index, line] of lines.entries()) {
      for (const [, specifier = ''] of line.matchAll(/['"`]([^'"`\s]+)['"`]/g)) {
        const isSame = specifier.startsWith('.')
          ? path.resolve(path.dirname(file), specifier) === path.resolve(path.dirname(file), wanted)
          : specifier === wanted || specifier.startsWith(`${wanted}/`);
        if (isSame) return { line: index + 1, specifier };
      }
    }
  } catch {
    // Without its line, the file must do.
  }
  return null;
}

function thrownWords(thrown: unknown, modulePath: string): string {
  if (!(thrown instanceof Error)) return `it throws ${quote(thrown)}`;
  const [first = '', ...others] = thrown.message.split('\n');
  const name = thrown.name === 'Error' ? '' : `${thrown.name}: `;
  return `${name}${[first, ...others].join(' ').trim()}${atText(thrown) || syntaxText(thrown, modulePath)}`;
}

function syntaxText(thrown: Error, modulePath: string): string {
  const place = thrown instanceof SyntaxError ? syntaxErrorPlace(modulePath) : null;
  return place === null ? '' : `, at ${shortPath(place.file)}:${place.line}`;
}

/** `, at jobs/mail.js:3`; empty if the stack does not show it. */
function atText(thrown: unknown): string {
  const place = placeOf(textOf(thrown, 'stack'));
  return place === null ? '' : `, at ${place}`;
}

/** A syntax error's stack begins with its place; that of others has frames. */
function placeOf(stack: string): string | null {
  const [head = ''] = stack.split('\n', 1);
  const [, top, topLine] = /^((?:file:\/\/|\/|[A-Za-z]:[\\/]).+):(\d+)$/.exec(head) ?? [];
  if (top !== undefined && topLine !== undefined) return `${shortPath(top)}:${topLine}`;
  const frames = stack.split('\n').flatMap(line => {
    const [, file, at] =
      /^\s+at (?:.*[( ])?((?:file:\/\/|\/|[A-Za-z]:[\\/])[^()]+):(\d+):\d+\)?$/.exec(line) ?? [];
    return file === undefined || at === undefined ? [] : [{ file, at }];
  });
  const own = frames.find(({ file }) => !/[\\/]node_modules[\\/]/.test(file)) ?? frames[0];
  return own === undefined ? null : `${shortPath(own.file)}:${own.at}`;
}

/** From the working directory, if the file is in it. */
function shortPath(file: string): string {
  const absolute = file.startsWith('file://') ? fileURLToPath(file.replace(/[?#].*$/, '')) : file;
  const relative = path.relative(process.cwd(), absolute);
  return relative === '' || relative.startsWith('..') || path.isAbsolute(relative) ? absolute : relative;
}

function textOf(thrown: unknown, key: string): string {
  if (typeof thrown !== 'object' || thrown === null) return '';
  const value = (thrown as Readonly<Record<string, unknown>>)[key];
  return typeof value === 'string' ? value : '';
}
