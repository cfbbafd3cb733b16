// Address and settings of the dashboard, from flags and environment. Loaded where it is served only.
import { readServedBasePath } from '../../dashboard/access/base-path.js';
import { DEFAULT_HOST } from '../../dashboard/server/hosts.js';
import { requireSafeAddress } from '../../dashboard/server/server-access.js';
import { type DashboardSettings, readDashboardSettings } from '../../dashboard/server/settings.js';
import type { AddressFlags } from '../flags/address-flags.js';

export interface ServedAt {
  readonly host: string;
  readonly settings: DashboardSettings;
}

/** Refuses an address that others could reach unasked, before anything is opened. @throws TockError */
export function readAddress({ host = DEFAULT_HOST, basePath }: AddressFlags): ServedAt {
  const read = readDashboardSettings(process.env);
  const settings =
    basePath === undefined ? read : { ...read, basePath: readServedBasePath(basePath, '--base-path') };
  requireSafeAddress(host, settings);
  return { host, settings };
}
