// The dashboard that `tock start` offers to a person beside its worker. If it cannot, one line says so.
import type { Tock } from '../../tock/types.js';
import type { AddressFlags } from '../flags/address-flags.js';
import type { Shell } from '../shell.js';
import type { Handover, Served } from './serve-dashboard.js';

export interface Place {
  readonly isStdinTerminal: boolean;
  readonly isStdoutTerminal: boolean;
  readonly nodeEnv: string | undefined;
}

/** Whether a person looks, who has not asked for a document: then pages are offered. */
export function isOffered({ json }: Pick<Shell, 'json'>, place: Place): boolean {
  return !json && place.isStdinTerminal && place.isStdoutTerminal && place.nodeEnv !== 'production';
}

export interface Offer extends Handover {
  /** Whether a worker before this one has said why there is no dashboard. */
  readonly isSaid: boolean;
}

/** Serves as `tock dashboard` does. What prevents that is said, and the worker goes on: it never rejects. */
export async function offerDashboard(
  shell: Shell,
  tock: Tock,
  flags: AddressFlags,
  { isSaid, ...handover }: Offer,
): Promise<Served | null> {
  try {
    const { serveFor } = await import('./serve-dashboard.js');
    return await serveFor(shell, tock, flags, handover);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (!isSaid) shell.note(`no dashboard, the worker goes on: ${why}; or turn it off with --no-dashboard`);
    return null;
  }
}
