// What a process asks of its host, over a span of time.

export interface ProcessLoad {
  /** Cores that were in use, on average: 1 is one core all the time. */
  readonly cpu: number;
  /** Resident memory. */
  readonly memoryBytes: number;
  /** By how much a timer was late, at most: for so long nothing else in this process could go on. */
  readonly loopDelayMs: number;
}
