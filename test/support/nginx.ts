// Room: test support. Debian's nginx in the foreground, as this user, with all that it writes in a folder of its own.
// In: what a server block has. Out: its port.
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './free-port.js';
import { lacks, programPath } from './needs.js';
import { until } from './until.js';

export const NGINX = lacks('nginx') ? null : programPath('nginx');

export async function startNginx(
  server: string,
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-nginx-'));
  const port = await freePort();
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    each => `${each}_temp_path ${folder}/${each};`,
  );
  const file = path.join(folder, 'nginx.conf');
  await writeFile(
    file,
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr; events {}
http { access_log off; ${places.join(' ')} server { listen 127.0.0.1:${port}; ${server} } }\n`,
  );
  const child = spawn(NGINX ?? '', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = new Promise<void>(resolve => child.on('close', () => resolve()));
  const close = async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`nginx has ended: ${output}`);
      return await fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      );
    }, 'nginx');
  } catch (error) {
    await close();
    throw error;
  }
  return { port, close };
}
