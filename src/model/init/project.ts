// What `tock init` knows of the project that it is run in.

export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun';

export interface Project {
  /** The folder's name, for a package.json that is made. */
  readonly name: string;
  /** Text of package.json; null: there is none. */
  readonly manifest: string | null;
  /** Whether a tsconfig.json is there. */
  readonly hasTsconfig: boolean;
  readonly packageManager: PackageManager;
  readonly hasGit: boolean;
  /** Whether the environment names a database. */
  readonly hasDatabaseUrl: boolean;
  /** Whether the environment names a server for tests. */
  readonly hasTestServer: boolean;
  /** Packages that can be resolved from the folder, of those that matter here. */
  readonly installed: ReadonlySet<string>;
  /** Text of the files that there may be already, by path within the folder. */
  readonly files: ReadonlyMap<string, string>;
  readonly timezone: string;
}

/** Files that `tock init` may write, besides package.json: those whose text is read first. */
export const JOB_FILE = 'jobs/say-hello';
export const MODULE_FILE = 'jobs/index';
export const EXTENSIONS = ['ts', 'js', 'mjs', 'cjs', 'mts', 'cts'] as const;

export type Language = 'typescript' | 'javascript';
export type ModuleKind = 'esm' | 'commonjs';

export interface Manifest {
  readonly type?: unknown;
  readonly scripts?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, unknown>>;
  readonly devDependencies?: Readonly<Record<string, unknown>>;
}

export function languageOf({ hasTsconfig }: Project, manifest: Manifest): Language {
  const { dependencies = {}, devDependencies = {} } = manifest;
  const isTyped = hasTsconfig || 'typescript' in dependencies || 'typescript' in devDependencies;
  return isTyped ? 'typescript' : 'javascript';
}

/** A package.json that is made here says `module`; one that says nothing is CommonJS, as Node reads it. */
export const moduleKindOf = ({ type }: Manifest): ModuleKind => (type === 'module' ? 'esm' : 'commonjs');
