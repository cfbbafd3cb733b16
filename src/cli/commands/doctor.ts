// `tock doctor`: checks everything that can be checked from this host, one line each.
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import {
  type CheckResult,
  type DoctorReport,
  fine,
  joined,
  resultOf,
  TITLES,
  worstOf,
  wrong,
} from '../../model/doctor/check.js';
import { checkCrontab } from '../../model/doctor/crontab.js';
import { parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import type { Finding } from '../../model/problems.js';
import type { SchedulerStatus } from '../../model/scheduler-view.js';
import { shellWord } from '../../model/shell-word.js';
import type { Config } from '../../runtime/configuration.js';
import { readCrontabs, thisCheckout } from '../../runtime/crontab.js';
import { healthExitCode, judgeError } from '../../runtime/exit-codes.js';
import { loadJobs } from '../../runtime/job-module.js';
import { newerSource, staleWords } from '../../runtime/job-module-age.js';
import { duration, examples, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';
import { noteMisspelt } from '../unknown-names.js';
import { paintSign } from '../views/level-text.js';

interface DoctorFlags extends CommonOptions {
  readonly exitCode?: true;
  readonly maxTickAge?: string;
  readonly forget?: string;
}

export function addDoctor(program: Command): Command {
  return withJson(program.command('doctor'))
    .summary('check everything, and say what fixes it')
    .description(
      'Checks what can be checked from this host, one line each: the crontab and the last tick, schema, rights, clocks, notifications, the server’s settings, definitions, leases, limits and more. What is wrong comes with the command that fixes it. Run it as the user, and with the environment, of the ticks. Changes nothing.',
    )
    .option('--exit-code', 'exit with 1 if something is failing, 4 for a warning')
    .option('--max-tick-age <duration>', 'how long nothing may tick (default 5m)', duration)
    .option('--forget <host>', 'forget the ticks of a host that is gone, so that it is not missed')
    .addHelpText(
      'after',
      examples(
        ['tock doctor', 'one line a check'],
        ['tock doctor --exit-code', 'for a monitor: 0 ok, 1 failing, 3 database unreachable, 4 warning'],
        ['tock doctor --forget web-2', 'web-2 was taken out of service'],
      ),
    )
    .action(action(doctor));
}

async function doctor(shell: Shell, flags: DoctorFlags): Promise<number> {
  const { forget } = flags;
  if (forget !== undefined) return await forgetHost(shell, forget);
  noteMisspelt(shell);
  const jobs = await tryJobs(shell.config);
  try {
    const report = await withTock(
      shell,
      { needsJobs: jobs.isLoadable, migrate: 'unchecked' },
      async ({ tock, psqlCommand }) => {
        const limits =
          flags.maxTickAge === undefined
            ? {}
            : { silentTickMs: parseDuration(flags.maxTickAge, '--max-tick-age') };
        const examined = await tock.doctor({ limits });
        const status = examined.at === null ? null : await tock.status();
        const checks = completed(examined.checks, await crontab(status), jobs.finding);
        return { ...examined, checks: checks.map(check => withPsql(check, psqlCommand)) };
      },
    );
    print(shell, { ...report, level: worstOf(report.checks) });
    return flags.exitCode ? healthExitCode(worstOf(report.checks)) : 0;
  } catch (error) {
    const verdict = judgeError(error, shell.config.schema);
    if (verdict.exitCode !== 3) throw error;
    const checks = [
      resultOf('database', wrong('failing', verdict.message, 'Nothing else can be checked until then')),
      resultOf('crontab', await crontab(null)),
    ];
    print(shell, { at: null, level: 'failing', checks });
    return 3;
  }
}

async function forgetHost(shell: Shell, host: string): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const forgotten = await tock.forgetHost(host);
    if (forgotten === 0)
      throw new TockError('TOCK_NOT_FOUND', `no tick of ${host} is on record; tock doctor shows the hosts`);
    shell.document({ host, forgotten });
    shell.say(`${cleanLine(host)} is forgotten; if it ticks again, it is on record again`);
    return 0;
  });
}

/** A job module that cannot be loaded is a finding, not the end. */
async function tryJobs({ jobsModule }: Config): Promise<{ isLoadable: boolean; finding: Finding | null }> {
  if (jobsModule === null || !existsSync(jobsModule)) return { isLoadable: false, finding: null };
  try {
    await loadJobs(jobsModule);
    const source = newerSource(jobsModule);
    return {
      isLoadable: true,
      finding:
        source === null
          ? fine(`loaded from ${jobsModule}`)
          : wrong('warning', staleWords(jobsModule, source), 'Build the project'),
    };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const finding = wrong(
      'failing',
      message,
      'Correct the module, and build it: no tick can start without it',
    );
    return { isLoadable: false, finding };
  }
}

async function crontab(status: SchedulerStatus | null): Promise<Finding> {
  return checkCrontab(await readCrontabs(), thisCheckout(process.env), status);
}

/** Connects psql as this process is connected: cron, and the embedded server, have no DATABASE_URL. */
function withPsql(check: CheckResult, psqlCommand: string | null): CheckResult {
  const { DATABASE_URL: url, DATABASE_URL_FILE: file } = process.env;
  const psql =
    psqlCommand ?? (url || file === undefined ? 'psql "$DATABASE_URL"' : `psql "$(cat ${shellWord(file)})"`);
  return { ...check, command: check.command?.replace('psql "$DATABASE_URL"', () => psql) ?? null };
}

/** The checks of the server's side with those of this host among them, in the order of {@link TITLES}. */
function completed(
  checks: readonly CheckResult[],
  crontabFinding: Finding,
  ofModule: Finding | null,
): CheckResult[] {
  const order = Object.keys(TITLES);
  const ofServer = checks.filter(({ code }) => code === 'jobs' && ofModule?.level !== 'failing');
  const ofJobs = [...ofServer, ...(ofModule === null ? [] : [ofModule])];
  const wrongOnes = ofJobs.filter(({ level }) => level !== 'ok');
  const own = [
    resultOf('crontab', crontabFinding),
    ...(ofModule === null ? [] : [resultOf('jobs', joined(wrongOnes.length > 0 ? wrongOnes : ofJobs, ''))]),
  ];
  const kept = checks.filter(({ code }) => !own.some(each => each.code === code));
  return [...kept, ...own].sort((a, b) => order.indexOf(a.code) - order.indexOf(b.code));
}

function print(shell: Shell, report: DoctorReport): void {
  shell.document(report);
  const width = Math.max(...report.checks.map(({ title }) => title.length));
  for (const { level, title, text, remedy, command } of report.checks) {
    shell.say(`${paintSign(level)} ${paint('bold', title.padEnd(width))}  ${cleanLine(text)}`);
    if (level === 'ok' || remedy === null) continue;
    const indent = ' '.repeat(width + 4);
    // The command is on a line of its own, to be copied.
    const advice = command === null ? remedy : remedy.replace(`: ${command}`, '');
    shell.say(`${indent}${cleanLine(advice)}`);
    if (command !== null) shell.say(`${indent}${paint('cyan', cleanLine(command))}`);
  }
  const wrongOnes = report.checks.filter(({ level }) => level === 'failing' || level === 'warning').length;
  shell.say('');
  shell.say(
    wrongOnes === 0
      ? paint('green', 'nothing is wrong')
      : `${wrongOnes} of ${report.checks.length} checks found something`,
  );
}
