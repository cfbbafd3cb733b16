// Runs that wait, and for what: what a status says of them.

/** The runs that wait for a slot under one key. */
export interface BlockedRuns {
  /** What is limited: `job:load/tenant-7`, `definition:12`. */
  readonly key: string;
  /** The name of the definition that the key stands for; null: it stands for something else. */
  readonly definition: string | null;
  readonly runs: number;
  /** How long the longest-waiting of them has been due. */
  readonly waitMs: number;
}

/** A job that runs wait for. */
export interface AwaitedJob {
  readonly job: string;
  /** How many runs; at most 1,000 are counted. */
  readonly runs: number;
  /** There are more than `runs`. */
  readonly isCapped: boolean;
  /** How long the longest-waiting of them has been due. */
  readonly waitMs: number;
  /** The code in force has the job, so that some worker should. */
  readonly isKnown: boolean;
}

/** A run that is due, that nothing keeps from starting, and that no worker takes. There should be none. */
export interface OverlookedRun {
  readonly id: string;
  readonly job: string;
  /** The name of the definition that planned it; null: none did. */
  readonly definition: string | null;
  readonly queue: string;
  /** Since when it could have been taken. */
  readonly since: Date;
  /** A worker that claims from its queue and has had room for it all this time. */
  readonly worker: { readonly host: string; readonly pid: number };
}
