// Where the dashboard is served: `--host`, `--port` and `--base-path`.
import type { Command } from 'commander';
import { count } from './flags.js';

export interface AddressFlags {
  readonly host?: string;
  readonly port?: number;
  readonly basePath?: string;
}

export function withAddress(command: Command, what = ''): Command {
  return command
    .option('--host <host>', `${what}the address to listen on (default 127.0.0.1)`)
    .option('--port <n>', `${what}the port (default 8625, or the next one that is free)`, count(0, 65_535))
    .option(
      '--base-path <path>',
      `${what}the path below which a proxy serves the pages, such as /tock (default the root, or TOCK_DASHBOARD_BASE_PATH)`,
    );
}
