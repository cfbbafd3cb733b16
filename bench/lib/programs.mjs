// Programs of a measure's own: in a temporary folder, on free ports of the loopback, gone at its end.
// In: commands. Out: programs that take connections; their end.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { chmod, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { track } from './child.mjs';

/** RabbitMQ needs ten seconds on two cores. */
const START_WITHIN_MS = 120_000;

const folders = new Set();
// Also where the benchmark is interrupted; its programs are killed before.
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export async function freePorts(count) {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = net.createServer();
      await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map(server => server.address().port);
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))));
  return ports;
}

/** A program in a process group of its own, so that what it has started ends with it. */
async function launch(folder, name, command, args, { env = {}, account = {} } = {}) {
  const log = path.join(folder, `${name}.log`);
  const output = await open(log, 'a');
  const child = spawn(command, args, {
    cwd: folder,
    detached: true,
    ...account,
    env: { PATH: process.env.PATH, HOME: folder, LANG: 'C.UTF-8', ...env },
    stdio: ['ignore', output.fd, output.fd],
  });
  await output.close();
  child.kill = signal => {
    try {
      return child.pid !== undefined && process.kill(-child.pid, signal);
    } catch {
      return false;
    }
  };
  track(child);
  let problem = null;
  const ended = new Promise(resolve => {
    child.once('error', error => {
      problem = error.message;
      resolve();
    });
    child.once('exit', (code, signal) => {
      problem = `it ended with ${code ?? signal}`;
      resolve();
    });
  });
  return {
    /** Resolves once it takes connections at the port. */
    async listens(port) {
      const until = performance.now() + START_WITHIN_MS;
      while (!(await takesConnections(port))) {
        if (problem !== null || performance.now() > until) {
          const printed = (await readFile(log, 'utf8')).trim().split('\n').slice(-5).join('\n');
          throw new Error(
            `${name} does not start: ${problem ?? 'it takes no connections'}${printed === '' ? '' : `\n${printed}`}`,
          );
        }
        await sleep(50);
      }
    },
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function takesConnections(port) {
  return await new Promise(resolve => {
    const socket = net.connect(port, '127.0.0.1');
    const end = isOpen => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

/** Starts programs in a folder that goes with them; if one does not start, the others end. */
export async function inFolder(begin) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tock-bench-'));
  folders.add(folder);
  // Some run as a user of their own.
  await chmod(folder, 0o711);
  const programs = [];
  const stop = async () => {
    await Promise.all(programs.map(program => program.stop()));
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    folders.delete(folder);
  };
  try {
    const begun = await begin(folder, async (...what) => {
      const program = await launch(folder, ...what);
      programs.push(program);
      return program;
    });
    return { ...begun, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
