// `npm run check`: everything that is tried beside the commit gate (.ci/run), in named parts, one after the other.
// In: names of parts; flags, see --help. Out: a log for each part in .check/, and a table; 1 where a part failed.
// Each part is executed, whatever became of the others. What a part leaves running is ended, and said.
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PARTS } from './check/parts.mjs';
import { isInstalled, NEEDS } from './support/needs.mjs';
import { temporaryFolder } from './support/temporary-folder.mjs';

const HELP = `npm run check [-- parts and flags]

Parts, each by itself, in this order:
${PARTS.map(({ name, about }) => `  ${name.padEnd(12)}${about}`).join('\n')}

  --install   installs first what the tests and parts need: by npm, and as root by apt-get
  --strict    fails where something is not installed
  --help

All of it takes about an hour on two cores. The log of each part is in .check/.`;

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const logs = path.join(root, '.check');
/** What ends a script that lacks something (EX_UNAVAILABLE). */
const NOT_INSTALLED = 69;
const WHAT_THE_LOG_SAYS = 'what its log says';

const { asked, install, strict } = readArguments();
process.chdir(root);
mkdirSync(logs, { recursive: true });
/** Marks the processes of this check, so that those that outlive their part are found. */
const mark = randomUUID();
/** Of the tests, and of the scripts: removed with what an interrupted one has left. Servers are found by them. */
const temporary = [temporaryFolder(), tmpdir()].map(folder => mkdtempSync(path.join(folder, 'tc-')));
for (const folder of temporary) chmodSync(folder, 0o755);
process.on('exit', () => {
  for (const folder of temporary) rmSync(folder, { recursive: true, force: true });
});
let current = null;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => {
    signalGroup(current);
    endMarked();
    console.error('check: interrupted');
    process.exit(130);
  });

if (install) installNeeds();
mustSucceed('npm', ['run', '--silent', 'build']);
const results = [];
for (const part of asked) {
  process.stdout.write(`${part.name}: ${part.about}\n`);
  const result = await tryPart(part);
  results.push(result);
  process.stdout.write(`  ${saidOf(result)}\n`);
  for (const each of result.failures) console.log('   ', each);
}
console.log(`\n${tableOf(results)}`);
const lacking = [...new Set(results.flatMap(({ lacking }) => lacking))].toSorted((a, b) =>
  a.localeCompare(b),
);
if (lacking.length > 0) {
  console.log('\nNot installed (npm run check -- --install does it):');
  for (const name of lacking) console.log(`  ${name}${name in NEEDS ? `: ${NEEDS[name].get}` : ''}`);
}
process.exit(results.some(({ failed }) => failed > 0) || (strict && lacking.length > 0) ? 1 : 0);

function readArguments() {
  const options = { install: { type: 'boolean' }, strict: { type: 'boolean' }, help: { type: 'boolean' } };
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (values.help) {
      console.log(HELP);
      process.exit(0);
    }
    const unknown = positionals.find(name => !PARTS.some(part => part.name === name));
    if (unknown !== undefined)
      throw new Error(`${unknown} is none of ${PARTS.map(({ name }) => name).join(', ')}`);
    const asked = PARTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
    return { asked, install: values.install ?? false, strict: values.strict ?? false };
  } catch (error) {
    console.error(`check: ${error.message.split('\n')[0]}; --help lists parts and flags`);
    process.exit(2);
  }
}

function installNeeds() {
  const missing = Object.keys(NEEDS).filter(name => !isInstalled(name));
  const debian = missing.flatMap(name => /^apt-get install (\S+)$/.exec(NEEDS[name].get)?.[1] ?? []);
  for (const name of missing)
    if (!NEEDS[name].get.startsWith('apt-get')) mustSucceed('sh', ['-c', NEEDS[name].get]);
  if (debian.length === 0) return;
  if (process.getuid?.() !== 0) {
    console.log(`check: only root can install ${debian.join(' ')}`);
    return;
  }
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  mustSucceed('apt-get', ['update', '-qq']);
  mustSucceed('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...debian], env);
  // Debian starts them; tests start their own.
  for (const service of ['rabbitmq-server', 'nats-server', 'nginx'])
    spawnSync('service', [service, 'stop'], { stdio: 'ignore' });
}

function mustSucceed(command, args, env = {}) {
  const { status } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  if (status === 0) return;
  console.error(`check: ${command} ${args.join(' ')} failed`);
  process.exit(1);
}

/** Executes its commands until one fails. */
async function tryPart(part) {
  const began = Date.now();
  const log = path.join(logs, `${part.name}.log`);
  const report = path.join(logs, `${part.name}.json`);
  const noted = path.join(logs, `${part.name}.lacks`);
  writeFileSync(log, '');
  writeFileSync(noted, '');
  const lacking = (part.needs ?? []).filter(name => !isInstalled(name));
  const result = { name: part.name, passed: 0, failed: 0, failures: [], lacking, left: 0, log };
  if (result.lacking.length === 0) {
    const node = part.node === undefined ? process.execPath : otherNode(part.node);
    for (const commandOf of part.run) {
      rmSync(report, { force: true });
      const [command, ...args] = commandOf(node);
      const reporters = part.vitest
        ? ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
        : [];
      const env = { TOCK_CHECK_LACKS: noted, TMPDIR: temporary[part.vitest ? 0 : 1] };
      const code = await execute(command, [...args, ...reporters], log, env);
      result.left += endMarked();
      if (code === NOT_INSTALLED) {
        result.lacking.push(WHAT_THE_LOG_SAYS);
        break;
      }
      const failedBefore = result.failed;
      if (part.vitest && existsSync(report)) countTests(result, JSON.parse(readFileSync(report, 'utf8')));
      else if (code === 0) result.passed++;
      // A run of tests may end badly without a test that failed: by an error outside, or killed.
      if (code !== 0 && result.failed === failedBefore) {
        result.failed++;
        result.failures.push(`${path.basename(command)} ${args.join(' ')} ended with ${code}`);
      }
      if (code !== 0 && !part.vitest) break;
    }
  }
  const notedNames = readFileSync(noted, 'utf8').split('\n').filter(Boolean);
  result.lacking = [...new Set([...result.lacking, ...notedNames])];
  rmSync(noted);
  rmSync(report, { force: true });
  result.seconds = Math.round((Date.now() - began) / 1000);
  return result;
}

function countTests(result, { testResults }) {
  for (const { name, status, message, assertionResults } of testResults) {
    const file = path.relative(root, name);
    for (const test of assertionResults) {
      if (test.status === 'passed') result.passed++;
      if (test.status !== 'failed') continue;
      result.failed++;
      result.failures.push(`${file} › ${test.fullName}`);
    }
    if (status !== 'failed' || assertionResults.some(test => test.status === 'failed')) continue;
    result.failed++;
    result.failures.push(`${file}: ${(message ?? '').split('\n')[0]}`);
  }
}

/** In a group of its own, without the settings of this shell. Resolves to its exit code, or its signal. */
async function execute(command, args, log, more) {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([key]) => !/^(?:DATABASE_URL|PG[A-Z]|NODE_OPTIONS|npm_|TOCK_(?!TEST_|CHAOS_|CHROMIUM))/.test(key),
    ),
  );
  const output = openSync(log, 'a');
  const child = spawn(command, args, {
    env: { ...env, TOCK_CHECK: mark, FORCE_COLOR: '0', ...more },
    stdio: ['ignore', output, output],
    detached: true,
  });
  current = child.pid;
  const code = await new Promise(resolve => {
    child.once('error', error => resolve(error.code));
    child.once('exit', (status, signal) => resolve(status ?? signal));
  });
  signalGroup(child.pid);
  current = null;
  closeSync(output);
  return code;
}

function signalGroup(pid) {
  try {
    if (pid) process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody is left.
  }
}

/** Ends the processes that a part has left, servers and daemons with groups of their own; gives how many. Linux only. */
function endMarked() {
  let count = 0;
  for (const pid of existsSync('/proc/self/environ')
    ? readdirSync('/proc').filter(name => /^\d+$/.test(name))
    : []) {
    try {
      if (Number(pid) === process.pid || !isMarked(pid)) continue;
      process.kill(Number(pid), 'SIGKILL');
      count++;
    } catch {
      // It has ended meanwhile, or is another user's.
    }
  }
  return count;
}

/** By its environment; a server, which gets none, by the folder of its data. */
function isMarked(pid) {
  if (readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark)) return true;
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  return temporary.some(folder => command.includes(`${folder}/`));
}

/** Another Node, from npm: installed once. */
function otherNode(version) {
  const prefix = path.join(logs, `node-${version}`);
  const name = `node-${process.platform}-${process.arch}`;
  const bin = path.join(prefix, 'node_modules', name, 'bin', 'node');
  if (!existsSync(bin))
    mustSucceed('npm', [
      'install',
      '--prefix',
      prefix,
      '--no-save',
      '--no-fund',
      '--no-audit',
      '--silent',
      `${name}@${version}`,
    ]);
  return bin;
}

function saidOf({ passed, failed, lacking, seconds, left }) {
  const words = [`${passed} passed, ${failed} failed`];
  if (lacking.length > 0) words.push(`not installed: ${lacking.join(', ')}`);
  if (left > 0) words.push(`${left} processes were left running, and ended`);
  return `${words.join('; ')} (${seconds} s)`;
}

function tableOf(all) {
  const rows = [
    ['part', 'passed', 'failed', 'not installed', 'seconds', 'log'],
    ...all.map(each => [
      each.name,
      `${each.passed}`,
      `${each.failed}`,
      each.lacking.join(', '),
      `${each.seconds}`,
      path.relative(root, each.log),
    ]),
  ];
  const widths = rows[0].map((_, column) => Math.max(...rows.map(row => row[column].length)));
  const isNumber = column => [1, 2, 4].includes(column);
  return rows
    .map(row =>
      row
        .map((cell, column) =>
          isNumber(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column]),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
