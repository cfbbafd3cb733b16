// Room: test support. Prometheus, its Alertmanager and promtool, where this machine has them.
// In: configuration. Out: running servers; their paths, or null where they are not installed.
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './free-port.js';
import { lacks, programPath } from './needs.js';
import { until } from './until.js';

export const PROMTOOL = lacks('prometheus') ? null : programPath('promtool');
export const PROMETHEUS = programPath('prometheus');
export const ALERTMANAGER = lacks('prometheus-alertmanager') ? null : programPath('prometheus-alertmanager');

export interface MonitoringServer {
  readonly url: string;
  /** What it has logged. */
  readonly output: () => string;
  close(): Promise<void>;
}

/**
 * Starts one of them on a free port, with files beside its configuration, and waits until it is ready.
 * @param args by port and folder
 */
export async function startMonitoring(
  program: string,
  files: Readonly<Record<string, string>>,
  args: (port: number, folder: string) => readonly string[],
): Promise<MonitoringServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-monitoring-'));
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(folder, name), content);
  const port = await freePort();
  const child = spawn(program, [...args(port, folder)], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const ended = new Promise<void>(resolve => child.on('close', () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  const close = async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`${program} has ended: ${output}`);
      return await fetch(`${url}/-/ready`).then(
        response => response.ok,
        () => false,
      );
    }, program);
  } catch (error) {
    await close();
    throw error;
  }
  return { url, output: () => output, close };
}
