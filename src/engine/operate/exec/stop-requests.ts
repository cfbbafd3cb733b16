// The signals that ask `tock exec` to stop: they are passed on to its command.

/** The last listener gets each signal; those before it are over. */
export class StopRequests {
  private received: NodeJS.Signals | null = null;
  private readonly controller = new AbortController();
  private listener: ((name: NodeJS.Signals) => void) | null = null;

  /** Aborts with the first one. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** The first one; null: none yet. */
  first(): NodeJS.Signals | null {
    return this.received;
  }

  receive(name: NodeJS.Signals): void {
    this.received ??= name;
    this.controller.abort();
    this.listener?.(name);
  }

  listen(listener: ((name: NodeJS.Signals) => void) | null): void {
    this.listener = listener;
  }
}
