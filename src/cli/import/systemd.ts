// `tock import systemd`: definitions from timers of systemd.

import { readdir, readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import { osUser } from '../../environment/os-user.js';
import { jobCode } from '../../import/code/job-code.js';
import { type TimerResult, translateTimer } from '../../import/systemd/timer.js';
import { lastOf, readUnitFile } from '../../import/systemd/unit-file.js';
import { TockError } from '../../model/errors.js';
import { checkZoneName } from '../../model/schedule/zone/zone-names.js';
import { zoneOfHost } from '../../runtime/crontab-sources.js';
import { examples, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell } from '../shell.js';
import { checkPlaces, readText, type WriteFlags, writeImport } from './import-files.js';

interface SystemdFlags extends CommonOptions, WriteFlags {
  readonly timezone?: string;
}

const FOLDER = '/etc/systemd/system';

export function addSystemd(command: Command): Command {
  return withJson(command.command('systemd'))
    .summary('definitions from timers of systemd')
    .description(
      'Reads timers and their services and writes a definition for each schedule, in TypeScript to be reviewed, with a report of what differs. Changes nothing in systemd: afterwards, disable the timers (systemctl disable --now NAME.timer). Needs no database.',
    )
    .argument('[paths...]', `timers, or folders of them (default ${FOLDER})`)
    .option('--timezone <zone>', 'the zone of the host of these timers (default: of this host)')
    .option('--out <file>', 'write the code there (default: standard output)')
    .option('--report <file>', 'write the report there (default: standard error)')
    .option('-y, --yes', 'do not ask')
    .addHelpText(
      'after',
      examples(
        ['tock import systemd', 'look at code and report'],
        ['tock import systemd ~/.config/systemd/user --out jobs/timers.ts', 'your own timers'],
      ),
    )
    .action(action(importSystemd));
}

async function importSystemd(shell: Shell, flags: SystemdFlags, paths: readonly string[]): Promise<number> {
  const timezone = flags.timezone ?? zoneOfHost();
  checkZoneName(timezone);
  const files = (await Promise.all((paths.length === 0 ? [FOLDER] : paths).map(timersIn))).flat();
  if (files.length === 0)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `there is no timer in ${paths.join(', ') || FOLDER}; name a file or a folder`,
    );
  const names = new Set<string>();
  const results: { file: string; result: TimerResult }[] = [];
  for (const file of files) {
    const timer = readUnitFile(await readText(file));
    const service = lastOf(timer, 'Timer.Unit') ?? path.basename(file).replace(/\.timer$/, '.service');
    const text = await readFile(path.join(path.dirname(file), service), 'utf8').catch(() => null);
    const unit = { name: path.basename(file), timer, service: text === null ? null : readUnitFile(text) };
    results.push({
      file,
      result: translateTimer(unit, { timezone, user: process.env['SUDO_USER'] || osUser() }, names),
    });
  }
  checkPlaces(flags);
  const jobs = results.flatMap(({ result }) => result.jobs);
  const code = jobCode(jobs, `systemd on ${hostname()} by \`tock import systemd\``);
  shell.document({ timezone, code, timers: results.map(({ file, result }) => ({ file, ...result })) });
  return await writeImport(shell, flags, code, reportOf(results, timezone));
}

async function timersIn(file: string): Promise<string[]> {
  const found = await stat(file).catch(() => null);
  if (found === null) throw new TockError('TOCK_NOT_FOUND', `there is no file ${file}`);
  if (!found.isDirectory()) {
    if (file.endsWith('.timer')) return [file];
    throw new TockError(
      'TOCK_BAD_OPTION',
      `${file} is no timer: name a file that ends with .timer, or a folder`,
    );
  }
  const names = (await readdir(file)).filter(name => name.endsWith('.timer')).sort();
  return names.map(name => path.join(file, name));
}

function reportOf(results: readonly { file: string; result: TimerResult }[], timezone: string): string {
  const lines = results.flatMap(({ file, result: { jobs, differences, problems } }) => [
    ...jobs.map(
      ({ name }) => `${file}: taken${differences.length === 0 ? '' : ', with a difference'}: ${name}`,
    ),
    ...differences.map(each => `    ${each}`),
    ...problems.map(problem => `${file}: not taken: ${problem}`),
  ]);
  const taken = results.reduce((sum, { result }) => sum + result.jobs.length, 0);
  return [
    ...lines,
    `${taken} taken`,
    '',
    'For all of them:',
    `  The time zone of this host, ${timezone}, is written out, unless the timer names one.`,
    "  A time that the clock skips does not happen (dst: 'skip'), as under systemd.",
    '  An occurrence runs on one host, whichever ticks first. A timer that each host must run stays in systemd.',
    '  A command gets the environment of the process that ticks; sandbox settings of the service do not hold.',
    '  When the definitions are in the job module: systemctl disable --now NAME.timer.',
  ].join('\n');
}
