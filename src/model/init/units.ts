// The units for systemd that `tock init` writes.
import { TockError } from '../errors.js';

export interface UnitOptions {
  readonly folder: string;
  readonly node: string;
  readonly user: string;
}

/** A value that systemd takes up to the end of the line. It expands `%`. */
const value = (text: string): string => text.replaceAll('%', '%%');

/** One word of a command: in double quotes where systemd would divide or change it. */
function word(text: string): string {
  const quoted = /^[\w./:@%+,-]+$/.test(text) ? text : `"${text.replaceAll(/[\\"]/g, String.raw`\$&`)}"`;
  return value(quoted);
}

/** @throws TockError TOCK_BAD_OPTION for a folder that no unit can name */
export function checkUnitFolder(folder: string): void {
  if (!/[\r\n]|\\$|\s$/.test(folder)) return;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${JSON.stringify(folder)} cannot be named in a unit of systemd, which ends a line there: rename the folder, or leave --systemd out`,
  );
}

const settings = ({ folder, user }: UnitOptions): string => `User=${user}
WorkingDirectory=${value(folder)}
EnvironmentFile=-${value(folder)}/.env`;

/** The daemon, for seconds. */
export const daemonUnit = (options: UnitOptions): string => `[Unit]
Description=Tock, the scheduler of ${value(options.folder)}
After=network-online.target
Wants=network-online.target

[Service]
${settings(options)}
ExecStart=${word(options.node)} node_modules/pg-tock/dist/cli.js start
Restart=always
RestartSec=5
# Lets running jobs end; what is left then goes back to the queue.
TimeoutStopSec=60

[Install]
WantedBy=multi-user.target
`;

/** One tick, for the timer. */
export const tickUnit = (options: UnitOptions): string => `[Unit]
Description=One tick of Tock in ${value(options.folder)}

[Service]
Type=oneshot
${settings(options)}
ExecStart=${word(options.node)} node_modules/pg-tock/dist/tick.js
`;

export const TICK_TIMER = `[Unit]
Description=Wakes Tock each minute

[Timer]
OnCalendar=*:*:00
AccuracySec=1s

[Install]
WantedBy=timers.target
`;
