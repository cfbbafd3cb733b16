// What a worker does in place of calling handlers, where it is a relay's.
import type { Ending } from '../../model/run/decide.js';
import type { ActiveRun } from './active-run.js';

export interface RelaySeam {
  /**
   * Hands an attempt off to others. Resolves to how it ends here: handed off, or given back.
   * @param payload as it is stored, or as code has computed it
   */
  handOff(active: ActiveRun, payload: unknown): Promise<Ending>;
  /** How an attempt ended is on record, or will never be. */
  onWritten(active: ActiveRun): void;
  /** How many more runs the worker may claim. @param held those that it holds already */
  room(held: number): number;
}
