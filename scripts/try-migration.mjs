#!/usr/bin/env node
// A whole migration from cron, on a machine in Berlin, through 29 March 2026, when its clock goes from 2:00 to 3:00.
//
//   node scripts/try-migration.mjs        as root; about three minutes
//
// 1. A crontab of eight lines is installed, and Debian's cron executes it through all 1,380 minutes of the day. How often each
//    command ran, and each byte that it wrote, is kept.
// 2. `tock import crontab`: the dry run for that day, the code, the switch; then `tock crontab install`.
// 3. The same day again. The same cron now executes the line that ticks, each minute of the day, and what it executes
//    must be what cron itself had executed: as often, and with the same bytes. Failures arrive by mail.
// 4. `tock crontab remove` and `tock import undo`: the crontab is as it was, byte for byte, and cron executes it again.
//
// What is real: cron, crontab, PostgreSQL 15, the packed package, the ticks. What is not: the clock of cron and of PostgreSQL
// (faketime). It leaps from one minute to the next as soon as cron has executed the minute; at most two ticks overlap, so the
// clock never leaves a tick further behind than that. Nothing of this machine's own crontabs is touched: see private-cron.sh.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { callbackify } from 'node:util';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { missingHere, openMachine } from './machine/leaping-machine.mjs';

const ZONE = 'Europe/Berlin';
/** From midnight to midnight in Berlin: 23 hours. */
const DAY = Date.parse('2026-03-28T23:00:00Z');
const NEXT_DAY = Date.parse('2026-03-29T22:00:00Z');
const CHANGE = Date.parse('2026-03-29T01:00:00Z');
const MINUTE = 60_000;
const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const INSIDE = 'TOCK_INSIDE_PRIVATE_CRON';

if (process.env[INSIDE] === undefined) {
  const missing = missingHere();
  if (missing !== null) fail(missing, 69);
  build();
  const { status } = spawnSync(
    path.join(root, 'scripts/machine/private-cron.sh'),
    [process.execPath, fileURLToPath(import.meta.url)],
    { stdio: 'inherit', env: { ...process.env, HOST_ZONE: ZONE, [INSIDE]: '1' } },
  );
  process.exit(status ?? 1);
}

const startedAt = performance.now();
const folder = mkdtempSync(path.join(tmpdir(), 'tock-migration-'));
chmodSync(folder, 0o755);
const shop = path.join(folder, 'shop');
const out = path.join(shop, 'out');
const app = path.join(folder, 'app');
const tickLog = path.join(app, 'tick.log');
const CRONTAB = `MAILTO=ops@example.com
REGION=eu-central
@reboot echo up >> ${out}/boot
*/15 * * * * cat >> ${out}/letters%Dear customer,%it is 100\\% off
30 2 * * * cd ${shop} && ./bin/report --full
CRON_TZ=Europe/London
*/20 6-20 * * 0,6 ${shop}/bin/poll >> ${out}/poll 2>> ${out}/poll.err
7 * * * * ${shop}/bin/check-disk
`;
/** The commands by the files to which they append, the names that the import gives them, and how often each must run. */
const COMMANDS = [
  { file: 'boot', name: null, linesEach: 1, times: 1 },
  { file: 'letters', name: 'cat', linesEach: 2, times: 92 },
  { file: 'report', name: 'report', linesEach: 1, times: 1 },
  { file: 'poll', name: 'poll', linesEach: 1, times: 45 },
  { file: 'checks', name: 'check-disk', linesEach: 1, times: 23 },
];
/** Of the 23 checks, the sixth, the twelfth and the eighteenth fail. */
const FAILURES = 3;

const mails = [];
const ticks = { ended: 0, readTo: 0 };
let machine = null;
let smtp = null;
try {
  writeShop();
  machine = await openMachine(folder, DAY - 10 * MINUTE);
  await oldDay();
  await migrate();
  await newDay();
  await goBack();
  say('the migration, the day and the way back are as they should be');
} finally {
  machine?.stop();
  if (smtp !== null) await new Promise(resolve => smtp.close(resolve));
  rmSync(folder, { recursive: true, force: true });
}

/** What the machine does today. */
function writeShop() {
  mkdirSync(path.join(shop, 'bin'), { recursive: true });
  mkdirSync(out);
  const environment = '$REGION $PWD $HOME $SHELL $LOGNAME $PATH';
  program('report', `echo "the report of ${environment} $*" | tee -a out/report`);
  program('poll', `echo "polled in $REGION"; echo "it was slow" >&2`);
  program(
    'check-disk',
    `echo checked >> ${out}/checks
if [ $(($(wc -l < ${out}/checks) % 6)) = 0 ]; then echo "the disk is full" >&2; exit 3; fi`,
  );
}

function program(name, text) {
  writeFileSync(path.join(shop, 'bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
}

/** 1. The day under cron, with the crontab as it is. */
async function oldDay() {
  const file = path.join(folder, 'crontab');
  writeFileSync(file, CRONTAB);
  run('crontab', [file]);
  equal(crontab(), Buffer.from(CRONTAB), 'the crontab that was installed');
  await machine.startCron();
  await machine.until('cron has executed @reboot', () => sizeOf(path.join(out, 'boot')) > 0);
  for (let at = DAY; at < NEXT_DAY; at += MINUTE) {
    await machine.toMinute(at);
    // Cron makes up for 2:30, which its clock has skipped; while it does, its virtual time is behind.
    if (at === CHANGE)
      await machine.until('cron has made up for 2:30', () => sizeOf(path.join(out, 'report')) > 0);
  }
  await machine.until('the last commands have ended', () =>
    countsIn(out).every((count, index) => count >= COMMANDS[index].times),
  );
  await machine.stopCron();
  equal(
    countsIn(out),
    COMMANDS.map(({ times }) => times),
    'how often cron has executed each command',
  );
  renameSync(out, `${out}.cron`);
  mkdirSync(out);
  say(`cron has executed the day: ${told(countsIn(`${out}.cron`))}`);
}

/** 2. The import, the switch, the line that ticks. */
async function migrate() {
  machine.setClock(DAY - 60 * MINUTE);
  await installPackage();
  const day = ['--from', new Date(DAY).toISOString(), '--days', '1'];
  say('tock import crontab --dry-run:');
  process.stdout.write(indented(tock(['import', 'crontab', '--dry-run', ...day]).stdout));
  const dryRun = JSON.parse(tock(['import', 'crontab', '--dry-run', ...day, '--json']).stdout);
  // The hour after the day is in the dry run as well: --days counts 24 hours.
  equal(
    dryRun.lines.map(({ name }) => name),
    ['cat', 'report', 'poll', 'check-disk'],
    'the lines of the dry run',
  );
  const differing = dryRun.lines.filter(({ differences }) => differences.length > 0);
  equal(
    differing.map(({ name, differences }) => [
      name,
      differences.map(({ at, by, reason }) => `${by} ${at} ${reason}`),
    ]),
    [['report', ['cron 2026-03-29T01:00:00Z gap', 'tock 2026-03-29T01:30:00Z gap']]],
    'what differs in the dry run',
  );
  equal(
    dryRun.lines.map(({ same, differences }) => same + differences.filter(({ by }) => by === 'cron').length),
    // In the hour after the day: four letters, and a check.
    [92 + 4, 1, 45, 23 + 1],
    'cron by the dry run, beside cron itself',
  );

  tock(['import', 'crontab', '--out', 'jobs/crontab.js', '--report', 'report.txt']);
  const report = readFileSync(path.join(app, 'report.txt'), 'utf8');
  has(report, /line 3: not taken: @reboot/);
  has(report, /4 taken, 2 of them with a difference; 1 not taken/);
  has(report, /Debian's cron ignores CRON_TZ=Europe\/London/);
  const [, alerts = ''] = /^ *(export const alerts = .*)$/m.exec(report) ?? [];
  has(alerts, /mail: 'ops@example\.com'/);
  writeFileSync(
    path.join(app, 'jobs', 'index.js'),
    `import { importedJobs } from './crontab.js';\nexport const jobs = [...importedJobs];\n${alerts.replace('<…>', '<tock@example.com>')}\n`,
  );
  tock(['migrate']);
  const switched = tock(['import', 'crontab', '--switch', '--yes']).stdout;
  has(switched, /commented out 4 lines; Tock runs them from its next tick on/);
  tock(['crontab', 'install', '--yes']);
  say('the crontab is now:');
  process.stdout.write(indented(crontab().toString()));
}

/** As npm would, without a registry: the packed files, and beside them the packages that this clone has. */
async function installPackage() {
  const modules = path.join(app, 'node_modules');
  mkdirSync(path.join(app, 'jobs'), { recursive: true });
  mkdirSync(modules);
  for (const name of readdirSync(path.join(root, 'node_modules')))
    if (!name.startsWith('.')) symlinkSync(path.join(root, 'node_modules', name), path.join(modules, name));
  const packed = run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
  });
  run('tar', ['-xzf', path.join(folder, packed.stdout.trim().split('\n').at(-1)), '-C', folder]);
  renameSync(path.join(folder, 'package'), path.join(modules, 'pg-tock'));
  writeFileSync(path.join(app, 'package.json'), '{ "name": "app", "type": "module", "private": true }\n');
  writeFileSync(path.join(app, 'database-url'), machine.url, { mode: 0o600 });
  // The clock leaps by a minute while a tick executes, so leases must be longer than that.
  writeFileSync(
    path.join(app, '.env'),
    `DATABASE_URL_FILE=${app}/database-url\nTOCK_LEASE=15m\nSMTP_URL=${await openInbox()}\n`,
  );
}

async function openInbox() {
  const keep = callbackify(async stream => void mails.push(await PostalMime.parse(await buffer(stream))));
  smtp = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    onData: (stream, _session, done) => keep(stream, done),
  });
  await new Promise(resolve => smtp.listen(0, '127.0.0.1', resolve));
  return `smtp://127.0.0.1:${smtp.server.address().port}`;
}

/** 3. The same day, under the line that ticks. */
async function newDay() {
  // Not earlier: however long the installation took, the minute of the first tick is still to come.
  machine.setClock(DAY - 3 * MINUTE);
  await machine.startCron();
  let started = 0;
  const tickTo = async (at, mayRun) => {
    await machine.toMinute(at);
    started++;
    await machine.until(
      `the tick of ${new Date(at).toISOString()} has ended`,
      () => ticksEnded() >= started - mayRun,
    );
  };
  // The first one registers the definitions: what is due before that is not Tock's.
  await tickTo(DAY - 2 * MINUTE, 0);
  for (let at = DAY - MINUTE; at < NEXT_DAY; at += MINUTE) await tickTo(at, 1);
  await machine.until('the last tick has ended', () => ticksEnded() >= started);
  const problems = readFileSync(tickLog, 'utf8')
    .split('\n')
    .filter(line => line.startsWith('tick: '));
  equal(problems, [], 'ticks that failed');
  say(`cron has executed ${started.toLocaleString('en')} ticks`);

  equal(
    countsIn(out),
    COMMANDS.map(({ times }) => times),
    'how often each command was executed',
  );
  for (const name of readdirSync(`${out}.cron`))
    equal(
      readFileSync(path.join(out, name)),
      readFileSync(path.join(`${out}.cron`, name)),
      `what is in ${name}`,
    );
  equal(readdirSync(out).sort(), readdirSync(`${out}.cron`).sort(), 'the files');
  say(`Tock has executed the day: ${told(countsIn(out))}; every byte as under cron`);
  checkLedger();
  checkMails();
}

function checkLedger() {
  for (const { name, times } of COMMANDS.filter(each => each.name !== null)) {
    const { runs } = JSON.parse(tock(['runs', '--definition', name, '--limit', '1000', '--json']).stdout);
    const due = new Set(runs.map(({ scheduledFor }) => scheduledFor));
    equal([runs.length, due.size], [times, times], `the runs of ${name}`);
    const late = Math.max(...runs.map(run => Date.parse(run.startedAt) - Date.parse(run.scheduledFor)));
    if (late > 3 * MINUTE) throw new Error(`a run of ${name} began ${late / 1000} s late`);
    if (name === 'report') {
      equal([...due], ['2026-03-29T01:30:00.000Z'], 'when the report was due');
      has(logOf(runs[0].id), /^the report of eu-central /m);
    }
    const dead = runs.filter(({ status }) => status === 'dead');
    equal(dead.length, name === 'check-disk' ? FAILURES : 0, `the failures of ${name}`);
    for (const { id, errors } of dead) {
      has(logOf(id), /^the disk is full$/m);
      has(JSON.stringify(errors), /TOCK_COMMAND_FAILED/);
    }
  }
  say(
    'the ledger has each run once, no more than three minutes late; output is in the log of its run. tock why says:',
  );
  process.stdout.write(indented(tock(['why', 'report', '2026-03-29T01:30:00Z']).stdout));
}

function logOf(id) {
  const { log } = JSON.parse(tock(['show', id, '--log', '--json']).stdout);
  return log.flatMap(({ lines }) => lines.map(({ text }) => text)).join('\n');
}

function checkMails() {
  const subjects = mails.map(({ subject }) => subject);
  const each = ['Tock: check-disk has a dead run', 'Tock: check-disk has recovered'];
  equal(subjects, Array.from({ length: FAILURES }, () => each).flat(), 'the mails');
  equal(
    [...new Set(mails.flatMap(({ to }) => to.map(({ address }) => address)))],
    ['ops@example.com'],
    'whom they are for',
  );
  say(`each of the ${FAILURES} failures was mailed, and each recovery: ${subjects.length} mails`);
}

/** 4. As it was. */
async function goBack() {
  tock(['crontab', 'remove', '--yes']);
  has(tock(['import', 'undo', '--yes']).stdout, /is as it was before the import, byte for byte/);
  equal(crontab(), Buffer.from(CRONTAB), 'the crontab after the way back');
  const ended = ticksEnded();
  for (let at = NEXT_DAY; at <= NEXT_DAY + 15 * MINUTE; at += MINUTE) await machine.toMinute(at);
  await machine.until('cron has written two more letters', () => countsIn(out)[1] >= 94);
  await machine.stopCron();
  equal(
    [countsIn(out)[1], countsIn(out)[4], ticksEnded()],
    [94, 24, ended],
    'letters, checks and ticks of the next day',
  );
  say('the crontab is as it was, byte for byte, and cron executes it again');
}

// -- Small things -------------------------------------------------------------------------------------

function countsIn(place) {
  return COMMANDS.map(({ file, linesEach }) => {
    const text = existsSync(path.join(place, file)) ? readFileSync(path.join(place, file), 'utf8') : '';
    return (text.split('\n').length - 1) / linesEach;
  });
}

function told(counts) {
  return COMMANDS.map(({ file }, index) => `${counts[index]} ${file}`).join(', ');
}

/** How many ticks have ended, by the last line of each; also of those that failed. Reads what is new. */
function ticksEnded() {
  const size = sizeOf(tickLog);
  if (size > ticks.readTo) {
    const text = readFileSync(tickLog).subarray(ticks.readTo).toString();
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    ticks.readTo += Buffer.byteLength(whole);
    ticks.ended += whole.match(/^(?:\S+Z )?tick: /gm)?.length ?? 0;
  }
  return ticks.ended;
}

function sizeOf(file) {
  return existsSync(file) ? statSync(file).size : 0;
}

function crontab() {
  return spawnSync('crontab', ['-l']).stdout;
}

function tock(args) {
  return run(process.execPath, ['node_modules/pg-tock/dist/cli.js', ...args], { cwd: app });
}

function run(command, args, { cwd = folder } = {}) {
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(DATABASE_URL|TOCK_|PG|npm_|NODE_)/.test(name)),
  );
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...clean, XDG_STATE_HOME: path.join(folder, 'state'), NO_COLOR: '1' },
  });
  if (status === 0) return { stdout, stderr };
  throw new Error(`${path.basename(command)} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
}

function equal(found, wanted, what) {
  const isSame = Buffer.isBuffer(found)
    ? found.equals(wanted)
    : JSON.stringify(found) === JSON.stringify(wanted);
  if (isSame) return;
  const text = value => (Buffer.isBuffer(value) ? value.toString() : JSON.stringify(value));
  throw new Error(`${what}:\n${text(found)}\nin place of\n${text(wanted)}`);
}

function has(text, pattern) {
  if (!pattern.test(text)) throw new Error(`${pattern} is not in:\n${text}`);
}

function indented(text) {
  return text.trimEnd().replaceAll(/^/gm, '    ').concat('\n');
}

function build() {
  const { status } = spawnSync(process.execPath, ['scripts/build.mjs', '--quiet'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) fail('the build failed', 1);
}

function say(text) {
  console.log(`try-migration: ${text} (${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
}

function fail(text, code) {
  console.error(`try-migration: ${text}`);
  process.exit(code);
}
