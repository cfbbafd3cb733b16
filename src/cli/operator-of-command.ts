// Who calls a command, for the audit. The caller has the database's address, so the role is admin.
import { osUser } from '../environment/os-user.js';
import type { Operator } from '../model/operator.js';
import type { Config } from '../runtime/configuration.js';

/** TOCK_OPERATOR; else who called sudo; else the user of the operating system. */
export function operatorOfCommand(
  config: Pick<Config, 'operator'>,
  env: NodeJS.ProcessEnv = process.env,
): Operator {
  const name = config.operator ?? (env['SUDO_USER']?.trim() || osUser());
  return { name: name.slice(0, 200), via: 'cli', role: 'admin', seesPayloads: true };
}
