// The TypeScript of an import: it compiles, and holds the command as it was.
import { transformSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { toCamelCase } from '../../src/import/code/camel-case.js';
import { jobCode } from '../../src/import/code/job-code.js';
import { codeJobOf } from '../../src/import/crontab/translate.js';
import { CRONTABS, translated } from './crontabs.js';

const codeOf = (text: string, change: Parameters<typeof translated>[1] = {}) =>
  jobCode(
    translated(text, change).taken.map(line => codeJobOf(line, 'crontab of app on web-1')),
    'cron by `tock import crontab`',
  );

/** What the module hands to defineShellJob. */
function definitionsIn(code: string): Record<string, unknown>[] {
  const { code: compiled, warnings } = transformSync(code, { loader: 'ts', format: 'cjs', target: 'node20' });
  expect(warnings).toEqual([]);
  const module = { exports: {} as { importedJobs?: Record<string, unknown>[] } };
  const give = () => ({ defineShellJob: (options: unknown) => options });
  // oxlint-disable-next-line typescript/no-implied-eval -- the code under test
  (new Function('module', 'require', compiled) as (...args: unknown[]) => void)(module, give);
  return module.exports.importedJobs ?? [];
}

describe('jobCode', () => {
  it('writes one definition for each line', () => {
    expect(
      codeOf('# comment\n30 2 * * * /opt/backup.sh --all\n'),
    ).toBe(`// Imported from cron by \`tock import crontab\`. Review each definition; then add importedJobs to the job module:
//   export const jobs = [...importedJobs];
import { defineShellJob } from 'pg-tock';

// crontab of app on web-1, line 2: 30 2 * * * /opt/backup.sh --all
export const backup = defineShellJob({
  name: 'backup',
  schedule: { cron: '30 2 * * *', timezone: 'Europe/Berlin' },
  shell: '/opt/backup.sh --all',
  cwd: '/home/app',
  env: { PATH: '/usr/bin:/bin' },
  // As before: what fails waits for its next time.
  retry: { maxAttempts: 1 },
});

export const importedJobs = [
  backup,
];
`);
  });

  it('writes an environment that several share once', () => {
    const code = codeOf('A=1\n1 1 * * * x\n2 1 * * * y\nB=2\n3 1 * * * z\n');
    expect(code.match(/PATH: /g)).toHaveLength(2);
    expect(definitionsIn(code).map(({ env }) => env)).toEqual([
      { PATH: '/usr/bin:/bin', A: '1' },
      { PATH: '/usr/bin:/bin', A: '1' },
      { PATH: '/usr/bin:/bin', A: '1', B: '2' },
    ]);
  });

  it('hands the text to another shell as cron does', () => {
    const [job] = definitionsIn(codeOf('SHELL=/bin/bash\n1 1 * * * source x && [[ -f y ]]\n'));
    expect(job).toMatchObject({ command: ['/bin/bash', '-c', 'source x && [[ -f y ]]'] });
    expect(job).not.toHaveProperty('shell');
  });

  it('holds every command of the fixtures, letter by letter', { tags: 'check' }, () => {
    for (const { text, hasUser } of CRONTABS) {
      const { taken } = translated(text, { hasUser });
      const definitions = definitionsIn(codeOf(text, { hasUser }));
      expect(definitions.map(({ name }) => name)).toEqual(taken.map(({ job }) => job.name));
      expect(definitions.map(({ shell }) => shell)).toEqual(taken.map(({ job }) => job.shell));
      expect(definitions.map(({ stdin }) => stdin ?? null)).toEqual(taken.map(({ job }) => job.stdin));
    }
  });

  it.each([
    `echo "it's" \\ 'so'`,
    'echo `x` ${y} */ // \\" \\\\',
    'echo \u2028\u2029\u202E\u0007 end',
    "echo \\'",
    '</script>',
    'a\tb',
  ])('holds %j, and no comment ends early', command => {
    const code = codeOf(`1 1 * * * ${command}\n`);
    expect(definitionsIn(code)).toMatchObject([{ shell: command }]);
    // oxlint-disable-next-line no-control-regex
    expect(code).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u2028-\u202E]/);
  });

  it('gives no identifier twice, and none that is a word of the language', () => {
    const code = codeOf(
      '1 1 * * * /opt/class\n1 1 * * * /opt/7zip\n1 1 * * * /opt/a-b\n1 1 * * * /opt/a_b\n1 1 * * * /opt/environment\n',
    );
    expect(code).toContain('export const classJob =');
    expect(code).toContain('export const job7zip =');
    expect(definitionsIn(code).map(({ name }) => name)).toEqual([
      'class',
      '7zip',
      'a-b',
      'a-b-2',
      'environment',
    ]);
    expect(toCamelCase('a-b', new Set(['aB']))).toBe('aB2');
  });

  it('is a module also without a line', () => {
    expect(definitionsIn(codeOf(''))).toEqual([]);
  });
});
