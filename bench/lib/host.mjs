// Where figures come from: machine, versions, commit.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import { connect } from './database.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

export async function host(url) {
  const sql = await connect(url);
  const show = async name => (await sql.one(`select current_setting($1) as value`, [name])).value;
  const settings = {};
  for (const name of ['fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size', 'max_connections'])
    settings[name] = await show(name);
  const postgres = await show('server_version');
  await sql.close();
  return {
    node: process.version,
    postgres,
    settings,
    cores: os.cpus().length,
    cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
    memory: `${Math.round(os.totalmem() / 2 ** 30)} GiB`,
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    load: os.loadavg()[0].toFixed(1),
    commit: commit(),
    versions: {
      'pg-tock': versionOf('../../package.json'),
      ...Object.fromEntries(
        ['graphile-worker', 'pg-boss', 'bullmq', 'pg'].map(name => [
          name,
          versionOf(`../node_modules/${name}/package.json`),
        ]),
      ),
    },
  };
}

const versionOf = file => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')).version;

function commit() {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  try {
    return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain', 'src') === '' ? '' : ' with changes'}`;
  } catch {
    // A copy without its history.
    return 'unknown';
  }
}
