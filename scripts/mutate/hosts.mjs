// The processes that run tests, and the one PostgreSQL that they share.
// In: how many. Out: `ask`, which gives a test file to a host that is free; one that does not answer is killed.
import { fork } from 'node:child_process';
import path from 'node:path';
import pg from 'pg';
import { createVitest } from 'vitest/node';
import { ROOT } from './mutants.mjs';

export const CACHE = path.join(ROOT, 'node_modules', '.cache', 'tock-mutate');
/** A vitest that has run this many files is replaced, because it keeps everything in memory. */
const MOST_RUNS = 400;

/** What the suite does before its first test: starts a server, or takes the one that TOCK_TEST_DATABASE_URL names. */
export async function startServer() {
  const vitest = await createVitest('test', { root: ROOT, watch: false, reporters: [{}] });
  const { default: setUp } = await vitest
    .getRootProject()
    .import(path.join(ROOT, 'test/support/global-setup.ts'));
  const provided = {};
  const stop = await setUp({ provide: (name, value) => (provided[name] = value) });
  await vitest.close();
  if (!process.env.TOCK_TEST_DATABASE_URL) await limitTemporaryFiles(provided.adminUrl);
  provided.adminUrl = withStatementTimeout(provided.adminUrl);
  return { provided, stop };
}

/** A mutant may make a statement that never ends: the server ends it. */
function withStatementTimeout(url) {
  const within = new URL(url);
  within.searchParams.set('options', '-c statement_timeout=20s');
  return within.href;
}

/** And one that fills the disk. Not part of the URL: tests connect with it as roles that may not set this. */
async function limitTemporaryFiles(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("alter role current_user set temp_file_limit = '500MB'");
  await client.end();
}

/**
 * A host that is started when it is first asked, and again when it had to be killed.
 *
 * @param {{ provided: object, testTimeout: number, sources?: Record<string, string> }} options
 */
export function createHost({ provided, testTimeout, sources = {} }) {
  let child = null;
  let runs = 0;

  const answer = (ms, send) =>
    new Promise((resolve, reject) => {
      const own = child;
      const settle = (how, value) => {
        clearTimeout(timer);
        own.removeAllListeners();
        how(value);
      };
      const timer = setTimeout(() => {
        kill();
        settle(resolve, null);
      }, ms);
      own.on('message', ({ isAlive, ok, result, error }) => {
        if (isAlive) timer.refresh();
        else if (ok) settle(resolve, result);
        else settle(reject, new Error(error));
      });
      own.once('exit', code => {
        if (child === own) child = null;
        settle(reject, new Error(`a host of tests has ended with ${code}`));
      });
      send?.(own);
    });

  const kill = () => {
    child?.kill('SIGKILL');
    child = null;
  };

  return {
    /** Null where it took longer than `withinMs` until a test ended, or after the last one. */
    async ask(message, withinMs) {
      if (child !== null && runs >= MOST_RUNS) kill();
      if (child === null) {
        runs = 0;
        child = fork(path.join(ROOT, 'scripts', 'mutate', 'host.mjs'), {
          stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
        });
        await answer(120_000, own => own.send({ provided, testTimeout, sources }));
      }
      runs++;
      return await answer(withinMs, own => own.send(message));
    },
    close: kill,
  };
}
