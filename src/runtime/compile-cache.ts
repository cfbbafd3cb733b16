// Keeps V8's compiled code from one tick to the next, in files in node_modules/.cache/pg-tock (ADR 0023).
import fs, { constants } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** What each tick loads, as CommonJS. The build puts the name here; without it this file does not exist. */
const CORE = 'core-00000000.cjs';
const DIGEST_BYTES = 32;
/** An exit code (exit-codes.ts). */
const WRONG_USAGE = 2;
/** Of a file's mode: the group or everyone may write. */
const WRITABLE_BY_OTHERS = 0o022;

// By an ESM import Node reads all exports of a module, some of which load more.
const nodeModule = process.getBuiltinModule('node:module');
const { Module, enableCompileCache } = nodeModule as unknown as {
  readonly Module: { new (file: string): LoadedModule; wrap(source: string): string };
  readonly enableCompileCache?: (folder: string) => unknown;
};
const { Script } = process.getBuiltinModule('node:vm');

interface LoadedModule {
  exports: object;
  filename: string;
  loaded: boolean;
  /** The import() of the core (scripts/bundle-core.mjs). */
  late?: (name: string) => Promise<unknown>;
}

/**
 * Loads what each tick needs from the code that an earlier tick has kept, and keeps what the job modules
 * load, if Node supports that (22.8). Never throws: without it a tick is only a little slower. Not in the
 * system's temporary folder: code there might come from another user. NODE_COMPILE_CACHE names another
 * folder, NODE_DISABLE_COMPILE_CACHE=1 turns it off.
 *
 * @param keeps whether the code is kept if there is none; false for a process that calls little of it
 */
export function keepCompiled(keeps: boolean): void {
  const bundle = fileURLToPath(import.meta.url);
  const folder = process.env['NODE_COMPILE_CACHE'] ?? compileCacheFolder(bundle);
  const isOff = process.env['NODE_DISABLE_COMPILE_CACHE'] === '1';
  try {
    loadCore(path.join(path.dirname(bundle), CORE), isOff ? null : folder, keeps);
  } catch {
    // Then it is loaded like any other module, which also shows what is wrong with it.
  }
  try {
    if (!isOff && enableCompileCache && isTrustedFolder(folder)) enableCompileCache(folder);
  } catch {
    // Then nothing is kept.
  }
}

/** Evaluates the core. Modules that require it later get this one. */
function loadCore(file: string, folder: string | null, keeps: boolean): void {
  const source = fs.readFileSync(file, 'utf8');
  // V8 compares the version and flags too, but its code says nothing of the source but the length.
  const flags = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ');
  const key = [path.basename(file), process.version, process.arch, flags].join('\n');
  const cache = folder === null ? null : path.join(folder, `core-${digestOf(key).toString('hex', 0, 8)}`);
  // Coverage is less exact in functions that come from a cache.
  const kept = cache === null || process.env['NODE_V8_COVERAGE'] ? undefined : readKept(cache, key);
  const script = new Script(Module.wrap(source), { filename: file, ...(kept && { cachedData: kept }) });
  const require = nodeModule.createRequire(file);
  const loaded = new Module(file);
  loaded.filename = file;
  loaded.late = async name =>
    (await import(name.startsWith('.') ? new URL(name, pathToFileURL(file)).href : name)) as unknown;
  const evaluate = script.runInThisContext() as (...scope: readonly unknown[]) => void;
  evaluate.call(loaded.exports, loaded.exports, require, loaded, file, path.dirname(file));
  loaded.loaded = true;
  (require.cache as Record<string, unknown>)[file] = loaded;
  if (!keeps || cache === null || (kept !== undefined && !script.cachedDataRejected)) return;
  // At the end: with the functions that were compiled when they were called. Few were after wrong usage.
  process.once('exit', code => {
    if (code !== WRONG_USAGE) keep(cache, key, script.createCachedData());
  });
}

/** The code that was kept; undefined if there is none, or none that can be trusted. */
function readKept(cache: string, key: string): Buffer | undefined {
  let descriptor: number | undefined;
  try {
    // No link, and nothing that keeps us waiting, such as a pipe.
    // Windows has neither flag; an undefined one counts as 0.
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    descriptor = fs.openSync(cache, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const stat = fs.fstatSync(descriptor);
    if (!stat.isFile() || !isTrusted(stat)) return undefined;
    const bytes = fs.readFileSync(descriptor);
    const data = bytes.subarray(DIGEST_BYTES);
    // V8 does not check it, and code that is damaged ends the process.
    return digestOf(key, data).equals(bytes.subarray(0, DIGEST_BYTES)) ? data : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}

/** Written beside it and renamed: another tick reads the whole of it or nothing. */
function keep(cache: string, key: string, data: Buffer): void {
  const folder = path.dirname(cache);
  const unfinished = `${cache}.${process.pid}.${Date.now()}`;
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o755 });
    if (!isTrustedFolder(folder)) return;
    fs.writeFileSync(unfinished, Buffer.concat([digestOf(key, data), data]), { flag: 'wx', mode: 0o644 });
    fs.renameSync(unfinished, cache);
  } catch {
    try {
      fs.unlinkSync(unfinished);
    } catch {
      // It could not even be begun.
    }
  }
}

/** Whether it is a folder, not a link, of this user or root; or there is none yet. */
function isTrustedFolder(folder: string): boolean {
  const stat = fs.lstatSync(folder, { throwIfNoEntry: false });
  return stat === undefined || (stat.isDirectory() && isTrusted(stat));
}

/** Whether only this user and root can have written it. */
function isTrusted({ uid, mode }: fs.Stats): boolean {
  const user = process.geteuid?.();
  return user === undefined || ((uid === user || uid === 0) && (mode & WRITABLE_BY_OTHERS) === 0);
}

function digestOf(key: string, data: Buffer = Buffer.alloc(0)): Buffer {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(key).update(data).digest();
}

/**
 * The folder for a bundle in `<package>/dist`: beside an installed package, otherwise in its own
 * node_modules.
 */
function compileCacheFolder(bundle: string): string {
  const packageFolder = path.dirname(path.dirname(bundle));
  const around = path.dirname(packageFolder);
  const modules =
    path.basename(around) === 'node_modules' ? around : path.join(packageFolder, 'node_modules');
  return path.join(modules, '.cache', 'pg-tock');
}
