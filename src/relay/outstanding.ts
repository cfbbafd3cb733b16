// How many runs are handed off and wait for an answer: counted in the database now and then, since leases
// end and other relays hand off too, and kept in between by what this relay does.
import type { Clock, Timer } from '../model/clock.js';
import type { Logger } from '../model/logger.js';
import type { Session } from '../store/connection/database.js';
import { countHandedOff } from '../store/runs/hand-off/relayed.js';

const COUNT_EVERY_MS = 10_000;

export interface OutstandingOptions {
  readonly clock: Clock;
  readonly database: Session;
  readonly logger: Logger;
  readonly queues: readonly string[];
  /** How many runs this relay has handed off since it was started. */
  readonly handedOff: () => number;
  /** There are fewer than before. */
  readonly onFewer: () => void;
}

export class Outstanding {
  private readonly options: OutstandingOptions;
  private counted = 0;
  private handedOffThen = 0;
  private answered = 0;
  private readonly timer: Timer;

  constructor(options: OutstandingOptions) {
    this.options = options;
    this.timer = options.clock.setInterval(() => void this.recount(), COUNT_EVERY_MS);
  }

  get count(): number {
    return Math.max(0, this.counted + this.options.handedOff() - this.handedOffThen - this.answered);
  }

  noteAnswered(count: number): void {
    this.answered += count;
    if (count > 0) this.options.onFewer();
  }

  /** Never rejects: without an answer the count stays as it is kept. */
  async recount(): Promise<void> {
    const { database, logger, queues, handedOff, onFewer } = this.options;
    const handedOffBefore = handedOff();
    const answeredBefore = this.answered;
    const before = this.count;
    try {
      this.counted = await countHandedOff(database, queues);
    } catch (error) {
      logger.debug(
        { event: 'relay.uncounted', error: String(error) },
        'the runs that are handed off could not be counted now',
      );
      return;
    }
    this.handedOffThen = handedOffBefore;
    this.answered -= answeredBefore;
    if (this.count < before) onFewer();
  }

  stop(): void {
    this.options.clock.clear(this.timer);
  }
}
