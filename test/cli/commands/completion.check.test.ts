// `tock completion`: the scripts in real shells, from the commands of the program.
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listNames } from '../../../src/cli/completion/list-names.js';
import { RUN_STATUSES } from '../../../src/model/run/states.js';
import { createTestDatabase, runAt } from '../../support/embedded-database.js';
import { lacks } from '../../support/needs.js';
import { openOnce } from '../../support/open.js';
import { begin, openWarmCli, tock } from '../cli-harness.js';

const warm = openWarmCli();
let folder: string;
const scripts: Record<string, string> = {};
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-completion-'));
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await warm.call(['completion', shell]);
    scripts[shell] = stdout;
    await writeFile(path.join(folder, shell === 'zsh' ? '_tock' : `tock.${shell}`), stdout);
  }
});
afterAll(async () => await warm.close());

const ENV = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' };
const run = promisify(execFile);
const lines = (text: string) => text.split('\n').filter(line => line !== '');

/** Every command and sub-command with its long options, as the help shows them. */
async function commandsOfHelp(): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  const read = async (at: readonly string[]) => {
    const { stdout } = await warm.call([...at, '--help']);
    found.set(
      at.join(' '),
      [...stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, option = '']) => option),
    );
    const titles =
      at.length === 0 ? stdout.split('\nEnvironment:')[0] : (stdout.split('\nCommands:\n')[1] ?? '');
    const [listed = ''] = (titles ?? '').split('\nExamples:');
    const names = [...listed.matchAll(/^ {2}([a-z][\w-]*)(?: |$)/gm)];
    for (const [, name = ''] of names) await read([...at, name]);
  };
  await read([]);
  return found;
}

describe('the script', () => {
  it('is that of $SHELL without an argument', async () => {
    for (const [shell, variable] of [
      ['bash', '/bin/bash'],
      ['zsh', '/usr/bin/zsh'],
      ['fish', 'fish'],
    ] as const) {
      const { stdout, code } = await warm.call(['completion'], { SHELL: variable });
      expect(stdout).toBe(scripts[shell]);
      expect(code).toBe(0);
    }
    const document = JSON.parse((await warm.call(['completion', 'zsh', '--json'])).stdout) as object;
    expect(document).toEqual({ shell: 'zsh', script: scripts['zsh']?.trimEnd() });
  });

  it.each([
    [
      [],
      { SHELL: '/bin/dash' },
      'tock completion: SHELL is "/bin/dash": name bash, zsh or fish, such as tock completion bash\n',
    ],
    [
      [],
      { SHELL: '' },
      'tock completion: SHELL is not set: name bash, zsh or fish, such as tock completion bash\n',
    ],
  ])('is refused for %j %j', async (args, env, line) => {
    expect(await warm.call(['completion', ...args], env)).toEqual({ code: 2, stdout: '', stderr: line });
  });

  it('says in the help how it is installed in each shell', async () => {
    const { stdout, code } = await warm.call(['completion', '--help']);
    expect(code).toBe(0);
    for (const shell of ['bash', 'zsh', 'fish']) expect(stdout).toMatch(new RegExp(`\n {2}${shell} {2,}\\S`));
    expect(stdout).not.toContain('--names');
  });

  it.each(['bash', 'zsh', 'fish'])('for %s has every command and option of the help', async shell => {
    const script = scripts[shell] ?? '';
    const commands = await commandsOfHelp();
    expect(commands.size).toBeGreaterThan(35);
    for (const [at, options] of commands) {
      expect(options).toContain('--help');
      for (const option of options) {
        const wanted =
          shell === 'fish'
            ? new RegExp(`^complete -c tock -n '__tock_at \\\\'${at}\\\\'' -l ${option.slice(2)} `, 'm')
            : new RegExp(`^ {4}'${at}'\\)\n(?:(?! {4}').*\n)*? {8}'${option}:`, 'm');
        expect(script, `${at} ${option}`).toMatch(wanted);
      }
    }
  });

  it('names only values that the help names', async () => {
    for (const [args, option, words] of [
      [['schedule', 'add'], '--dst', ['once', 'skip', 'literal']],
      [['schedule', 'add'], '--overlap', ['skip', 'buffer_one', 'allow_all']],
      [['schedule', 'add'], '--after-on', ['success', 'failure', 'completion']],
      [['run'], '--unique', ['ever', 'live']],
      [['runs'], '--status', RUN_STATUSES],
    ] as const) {
      const { stdout } = await warm.call([...args, '--help']);
      const shown = /^ {2}.*(?:\n {10,}.*)*/gm;
      const text =
        [...stdout.matchAll(shown)].map(([each]) => each).find(each => each.includes(`${option} `)) ?? '';
      for (const word of words) expect(text).toContain(word);
    }
  });
});

describe.skipIf(lacks('bash'))('in bash', () => {
  /** What a Tab offers after these words; `kind` is COMP_TYPE: 9 is the first Tab, 63 the second. */
  const offered = async (words: readonly string[], kind = 9, env: Record<string, string> = {}) => {
    const program = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=${kind}; COLUMNS=100; _tock
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const args = ['--noprofile', '--norc', '-c', program, path.join(folder, 'tock.bash'), ...words];
    const { stdout, stderr } = await run('bash', args, { env: { ...ENV, ...env }, cwd: folder });
    expect(stderr).toBe('');
    return lines(stdout);
  };

  it('offers commands, sub-commands and options', async () => {
    expect(await offered(['tock', 'ru'])).toEqual(['runs', 'run']);
    expect(await offered(['tock', 'queue', ''])).toEqual([
      'list',
      'set',
      'reset',
      'pause',
      'resume',
      'remove',
    ]);
    expect(await offered(['tock', 'queue', 'set', 'reports', '--c'])).toEqual(['--concurrency']);
    expect(await offered(['tock', 'migrate', '--s'])).toEqual(['--sql']);
    expect(await offered(['tock', '--v'])).toEqual(['--version']);
    expect(await offered(['tock', 'queue', 'set', 'reports', ''])).toEqual([]);
  });

  it('offers values: of choices, of lists, of files, and after =', async () => {
    expect(await offered(['tock', 'runs', '--status', 'd'])).toEqual(['dead']);
    expect(await offered(['tock', 'runs', '--status', 'dead,s'])).toEqual(['dead,succeeded', 'dead,skipped']);
    expect(await offered(['tock', 'runs', '--status', '=', 'q'])).toEqual(['queued']);
    expect(await offered(['tock', 'runs', '--status', '='])).toEqual([...RUN_STATUSES]);
    expect(await offered(['tock', 'metrics', '--textfile', 'tock.b'])).toEqual(['tock.bash']);
    expect(await offered(['tock', 'runs', '--limit', ''])).toEqual([]);
    expect(await offered(['tock', 'completion', 'z'])).toEqual(['zsh']);
  });

  it('shows descriptions where bash only lists', async () => {
    expect(await offered(['tock', 'migrate', '--'], 63)).toContainEqual(
      expect.stringMatching(/^--sql +print the SQL of the missing migrations/),
    );
    expect(await offered(['tock', 'migrate', '--sq'], 63)).toEqual(['--sql']);
  });

  it('completes at the key, in a terminal', async () => {
    const prompt = 'READY> ';
    const shown = await typed('bash --noprofile --norc -i', prompt, [
      `source ${path.join(folder, 'tock.bash')}\n`,
      'tock() { echo "GOT <$*>"; }\n',
      'tock back\tsome --dr\t--fr\t2026-01-01T00:00:00Z\n',
    ]);
    expect(shown).toContain('GOT <backfill some --dry-run --from 2026-01-01T00:00:00Z>');
  });

  it('asks for names, and takes none if tock fails', async () => {
    const bin = await folderOfStub();
    const env = { PATH: `${bin}:${ENV.PATH}`, DATABASE_URL: 'postgres://somewhere' };
    expect(await offered(['tock', 'run', ''], 9, env)).toEqual(['greet', 'report']);
    expect(await offered(['tock', 'runs', '--job', 'r'], 9, env)).toEqual(['report']);
    expect(await offered(['tock', 'pause', ''], 9, env)).toEqual([]);
    expect(await offered(['tock', 'run', ''], 9, { PATH: env.PATH })).toEqual([]);
  });
});

describe.skipIf(lacks('zsh', 'script'))('in zsh', () => {
  it('completes at the key, as a file in $fpath and sourced', async () => {
    for (const begin of [
      `fpath=(${folder} $fpath); autoload -Uz compinit; compinit -u -D\n`,
      `autoload -Uz compinit; compinit -u -D; source ${folder}/_tock\n`,
    ]) {
      const shown = await typed('zsh -f -i', 'READY> ', [
        begin,
        'tock() { echo "GOT <$*>"; }\n',
        'tock mig\t--sq\t--no\t\n',
        'tock runs --status de\t--limit 3 --job x\n',
        'tock runs --status=dead,suc\t--json\n',
        'tock queue rem\treports\n',
        'tock metrics --form\tprom\t\n',
      ]);
      expect(shown).toContain('GOT <migrate --sql --no-transaction>');
      expect(shown).toContain('GOT <runs --status dead --limit 3 --job x>');
      expect(shown).toContain('GOT <runs --status=dead,succeeded --json>');
      expect(shown).toContain('GOT <queue remove reports>');
      expect(shown).toContain('GOT <metrics --format prometheus>');
    }
  });

  it('lists with descriptions', async () => {
    const shown = await typed('zsh -f -i', 'READY> ', [
      `autoload -Uz compinit; compinit -u -D; source ${folder}/_tock\n`,
      'tock queue \t\u0015\n',
    ]);
    expect(shown).toMatch(/pause +-- let no run of a queue start/);
  });

  it('asks for names', async () => {
    const path = `${await folderOfStub()}:${ENV.PATH}`;
    const shown = await typed('zsh -f -i', 'READY> ', [
      `autoload -Uz compinit; compinit -u -D; source ${folder}/_tock; export PATH='${path}' DATABASE_URL=x\n`,
      'tock run rep\t--json\n',
    ]);
    expect(shown).toContain('GOT <run report --json>');
  });

  it('says so when compinit has not run', async () => {
    const { stderr } = await run('zsh', ['-f', '-c', `source ${folder}/_tock`], { env: ENV });
    expect(stderr).toMatch(/^tock completion: run compinit first/);
  });
});

describe.skipIf(lacks('fish'))('in fish', () => {
  const offered = async (line: string, env: Record<string, string> = {}) => {
    const home = await mkdtemp(path.join(tmpdir(), 'tock-fish-'));
    const program = `source ${path.join(folder, 'tock.fish')}; complete -C '${line}'`;
    const { stdout, stderr } = await run('fish', ['--no-config', '-c', program], {
      env: { ...ENV, HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home, ...env },
      cwd: folder,
    });
    expect(stderr).toBe('');
    return lines(stdout);
  };
  const words = async (line: string, env?: Record<string, string>) =>
    (await offered(line, env)).map(each => each.split('\t')[0]);

  it('offers commands, sub-commands and options with their descriptions', async () => {
    expect(await offered('tock migr')).toEqual(['migrate\tbring the schema to this version']);
    expect(await words('tock queue ')).toEqual(['list', 'pause', 'remove', 'reset', 'resume', 'set']);
    expect(await words('tock queue set reports --conc')).toEqual(['--concurrency']);
    expect(await words('tock migrate --sq')).toEqual(['--sql']);
  });

  it('offers values: of choices, of lists, of files, and after =', async () => {
    expect(await words('tock runs --status de')).toEqual(['dead']);
    expect(await words('tock runs --status dead,s')).toEqual(['dead,skipped', 'dead,succeeded']);
    expect(await words('tock runs --status=qu')).toEqual(['--status=queued']);
    expect(await words('tock metrics --textfile tock.b')).toEqual(['tock.bash']);
    expect(await words('tock runs --limit ')).toEqual([]);
    expect(await words('tock completion z')).toEqual(['zsh']);
  });

  it('asks for names, and takes none if tock fails', async () => {
    const env = { PATH: `${await folderOfStub()}:${ENV.PATH}`, DATABASE_URL: 'postgres://somewhere' };
    expect(await words('tock run ', env)).toEqual(['greet', 'report']);
    expect(await words('tock runs --job r', env)).toEqual(['report']);
    expect(await words('tock pause ', env)).toEqual([]);
    expect(await words('tock run ', { PATH: env.PATH })).toEqual([]);
  });
});

describe('names', () => {
  const database = openOnce(() => createTestDatabase('schema'));
  beforeAll(async () => {
    await runAt(
      database.url,
      `insert into tock.job_definitions (name, job, cron, queue) values ('daily', 'report', '@daily', 'slow'), ('greet', 'greet', null, 'default')`,
      `insert into tock.job_definitions (name, job, vanished_at) values ('gone', 'gone', tock.now())`,
      `insert into tock.job_queues (name, concurrency) values ('mail', 1)`,
    );
  });

  const PATIENT_MS = 30_000;
  it('are those of the database', async () => {
    const config = { databaseUrl: database.url, schema: 'tock' };
    expect(await listNames(config, 'definitions', PATIENT_MS)).toEqual(['daily', 'greet']);
    expect(await listNames(config, 'jobs', PATIENT_MS)).toEqual(['greet', 'report']);
    expect(await listNames(config, 'queues', PATIENT_MS)).toEqual(['default', 'mail', 'slow']);
  });

  it('are none without a database, in a wrong one, and when time is up', async () => {
    expect(await listNames({ databaseUrl: null, schema: 'tock' }, 'jobs', PATIENT_MS)).toEqual([]);
    expect(await listNames({ databaseUrl: database.url, schema: 'other' }, 'jobs', PATIENT_MS)).toEqual([]);
    expect(await listNames({ databaseUrl: database.url, schema: 'tock' }, 'jobs', 0)).toEqual([]);
    const nowhere = { DATABASE_URL: 'postgres://user@127.0.0.1:1/nowhere' };
    for (const env of [{}, nowhere])
      expect(await tock(['completion', '--names', 'jobs'], { env })).toEqual({
        code: 0,
        stdout: '',
        stderr: '',
      });
    expect((await begin(['completion', '--names', 'worlds']).ended).code).toBe(2);
  });
});

/** A folder with a `tock` that knows names of jobs, and no others. */
async function folderOfStub(): Promise<string> {
  const bin = await mkdtemp(path.join(tmpdir(), 'tock-bin-'));
  const script = `#!/bin/sh
case "$*" in
  'completion --names jobs') echo greet; echo report ;;
  completion*) exit 1 ;;
  *) echo "GOT <$*>" ;;
esac
`;
  await writeFile(path.join(bin, 'tock'), script, { mode: 0o755 });
  return bin;
}

/** Types lines into a shell in a terminal, each once the prompt is there. Gives all that is shown. */
async function typed(shell: string, prompt: string, keys: readonly string[]): Promise<string> {
  const child = spawn('script', ['-qefc', shell, '/dev/null'], {
    env: { ...ENV, TERM: 'dumb', PS1: prompt, PROMPT: prompt, HISTFILE: '/dev/null' },
    cwd: folder,
  });
  let shown = '';
  let sent = 0;
  const rest = [...keys, 'exit\n'];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    // A prompt for each line that was typed, and the first.
    if (shown.split(prompt).length - 1 > sent && rest[sent] !== undefined)
      child.stdin.write(rest[sent++] ?? '');
  });
  child.stdin.on('error', () => undefined);
  await new Promise(resolve => child.on('close', resolve));
  return shown.replaceAll('\r', '');
}
