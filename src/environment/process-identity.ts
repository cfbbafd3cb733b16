// Who this process is, for the record of ticks.
import { hostname } from 'node:os';
import { zoneDataVersion } from '../model/schedule/zone/zone-data.js';
import { packageVersion, projectFolder } from './paths.js';

/** The host, the checkout, and what runs there. */
export interface ProcessIdentity {
  readonly host: string;
  readonly folder: string;
  /** Of Tock. */
  readonly version: string;
  /** Of Node. */
  readonly node: string;
  /** Of Node's time zone data, such as `2025c`. */
  readonly zoneData: string;
  /** The host's clock now, in epoch milliseconds. */
  readonly hostMs: number;
}

export function processIdentity(): ProcessIdentity {
  return {
    host: hostname(),
    folder: projectFolder(),
    version: packageVersion(),
    node: process.versions.node,
    zoneData: zoneDataVersion() || 'unknown',
    hostMs: Date.now(),
  };
}
