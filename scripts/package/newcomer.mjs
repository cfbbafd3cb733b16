// What a newcomer does with the package: `tock init`, `tock start` and `tock crontab install` in an empty folder; Docker.
import { spawn, spawnSync } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const LIMIT_MS = 180_000;
/** Up to a minute until the next occurrence, and what a busy machine takes to execute and show its run. */
const FIRST_RUN_LIMIT_MS = 180_000;
/** The same under cron, whose tick starts the server first. */
const CRON_LIMIT_S = 240;
const NO_NAMESPACES = 69;
/** What a person types, in one shell. */
const UNDER_CRON = `
set -e
npx --no-install tock crontab install --yes
crontab -l
cron -f & cron=$!
for _ in $(seq ${CRON_LIMIT_S}); do if grep -qs ' succeeded' tick.log; then break; fi; sleep 1; done
kill "$cron"
cat tick.log
grep -q ' succeeded' tick.log
npx --no-install tock crontab remove --yes
if crontab -l; then echo 'a crontab is left'; exit 1; fi
`;

/** Three commands from nothing to a first success, on the server that Tock starts; and one more to the crontab. */
export async function tryStart({ clean, run, has, say }, tarball) {
  const parent = await mkdtemp(path.join(tmpdir(), `tock 100% it's `));
  // The user of the embedded server must get through.
  await chmod(parent, 0o711);
  const cwd = path.join(parent, 'app');
  await mkdir(cwd);
  const tock = args => run('npx', ['--no-install', 'tock', ...args], { cwd });
  try {
    run('npm', ['init', '-y'], { cwd });
    run('npm', ['install', '--no-audit', '--no-fund', '--silent', tarball], { cwd });
    has(tock(['init', '--yes']).stdout, /done: your jobs are in jobs\/index\.js/);

    const started = spawn('npx', ['--no-install', 'tock', 'start'], { cwd, env: clean, detached: true });
    let printed = '';
    for (const stream of [started.stdout, started.stderr]) stream.on('data', chunk => (printed += chunk));
    const ended = new Promise(resolve => started.once('exit', resolve));
    try {
      const within = async (what, limit, isSo) => {
        const end = performance.now() + limit;
        while (!isSo()) {
          if (performance.now() > end) throw new Error(`not ${what} within ${limit / 1000} s:\n${printed}`);
          await sleep(1000);
        }
      };
      await within('running', LIMIT_MS, () => /running on/.test(printed));
      await within('succeeded', FIRST_RUN_LIMIT_MS, () =>
        JSON.parse(tock(['runs', '--job', 'say-hello', '--json']).stdout).runs.some(
          ({ status, trigger }) => status === 'succeeded' && trigger === 'cron',
        ),
      );
    } finally {
      // As Ctrl-C does: all processes in the foreground get it.
      if (started.pid !== undefined && started.exitCode === null) process.kill(-started.pid, 'SIGINT');
      await ended;
    }
    has(printed, /stopped: \d+ succeeded, 0 failed, 0 dead/);
    say('npx tock init && npx tock start: the first job has succeeded');

    const privately = fileURLToPath(new URL('../machine/private-cron.sh', import.meta.url));
    const { status, stdout, stderr } = spawnSync(privately, ['bash', '-c', UNDER_CRON], {
      cwd,
      encoding: 'utf8',
      env: clean,
      timeout: LIMIT_MS + CRON_LIMIT_S * 1000,
    });
    if (status === NO_NAMESPACES) return say(`NOT TRIED under cron: ${stderr.trim()}`);
    if (status !== 0) throw new Error(`tock crontab install, under cron: ${status}\n${stdout}\n${stderr}`);
    has(stdout, /^\* \* \* \* \* cd '.*100\\% it'\\''s .*\/app' && /m);
    // It was installed before cron was started.
    has(stderr, /no cron daemon runs on this host/);
    say(
      'npx tock crontab install: a run of the next minute has succeeded, in a folder with spaces, a quote and %',
    );
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
}

const NOBODY = 65_534;

/** What Dockerfile and compose.yaml say, done by hand in a fresh folder: no container is needed to see that it works. */
export async function tryDocker({ folder, clean, run, has, say, newDatabase }, tarball) {
  const parent = await mkdtemp(path.join(tmpdir(), 'tock-docker-'));
  const [cwd, image] = [path.join(parent, 'app'), path.join(parent, 'image')];
  const url = await newDatabase();
  try {
    await chmod(parent, 0o755);
    await mkdir(cwd);
    run('npm', ['init', '-y'], { cwd });
    run('npm', ['install', '--no-audit', '--no-fund', '--silent', tarball], { cwd });
    run('npx', ['--no-install', 'tock', 'init', '--yes', '--docker'], { cwd, env: { DATABASE_URL: url } });

    const { parse } = createRequire(path.join(folder, 'package.json'))('yaml');
    const { services, volumes } = parse(await readFile(path.join(cwd, 'compose.yaml'), 'utf8'));
    const { database, tock } = services;
    for (const volume of database.volumes)
      if (!(volume.split(':')[0] in volumes)) throw new Error(`compose.yaml lacks the volume ${volume}`);
    for (const name of Object.keys(tock.depends_on))
      if (services[name]?.healthcheck === undefined)
        throw new Error(`compose.yaml: ${name} has no healthcheck`);
    const at = new URL(tock.environment.DATABASE_URL);
    if (services[at.hostname] !== database) throw new Error(`compose.yaml has no service ${at.hostname}`);
    const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = database.environment;
    has(at.href, new RegExp(`//${POSTGRES_USER}:${POSTGRES_PASSWORD}@.*/${POSTGRES_DB}$`));

    const command = await followDockerfile(run, cwd, image);
    const [program, ...args] = command;
    const started = spawn(program, args, {
      cwd: image,
      env: { ...clean, ...tock.environment, DATABASE_URL: url },
      // As a user who owns nothing there.
      ...(process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}),
    });
    let printed = '';
    for (const stream of [started.stdout, started.stderr]) stream.on('data', chunk => (printed += chunk));
    const ended = new Promise(resolve => started.once('exit', resolve));
    const end = performance.now() + LIMIT_MS;
    while (!/running on/.test(printed) && started.exitCode === null && performance.now() < end)
      await sleep(100);
    started.kill('SIGTERM');
    const code = await ended;
    if (code !== 0 || !/running on/.test(printed))
      throw new Error(`${command.join(' ')}: ${code}\n${printed}`);
    say('the Dockerfile of tock init, done by hand, starts and stops; compose.yaml is whole');
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
}

/** Resolves to its CMD. */
async function followDockerfile(run, context, image) {
  await mkdir(image);
  const ignored = (await readFile(path.join(context, '.dockerignore'), 'utf8')).trim().split('\n');
  let command = null;
  for (const line of (await readFile(path.join(context, 'Dockerfile'), 'utf8')).split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [, word, rest] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (word === 'COPY') {
      const [to, ...from] = rest.split(' ').toReversed();
      const isTaken = name => !ignored.includes(path.relative(context, name).split(path.sep)[0]);
      for (const name of from)
        await cp(path.join(context, name), path.join(image, to, name === '.' ? '' : path.basename(name)), {
          recursive: true,
          filter: isTaken,
        });
    } else if (word === 'RUN') run('sh', ['-c', rest], { cwd: image });
    else if (word === 'CMD') command = JSON.parse(rest);
    else if (!['FROM', 'WORKDIR', 'USER'].includes(word)) throw new Error(`Dockerfile: ${line}`);
  }
  if (command === null) throw new Error('the Dockerfile has no CMD');
  return command;
}
