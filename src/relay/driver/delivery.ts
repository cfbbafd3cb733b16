// What the drivers of brokers share: a message as it was delivered, and who takes it.

/** A message that a broker has delivered and that is to be acknowledged. */
export interface Delivery {
  /** Its JSON, read; or what else it held. */
  readonly body: unknown;
  readonly ack: () => void;
  /** The broker delivers it again, here or elsewhere. */
  readonly giveBack: () => void;
  /** Whether its connection is lost: then the broker delivers it again by itself. */
  readonly isGone: () => boolean;
}

/** Takes the deliveries of one subscription. */
export interface Receiver {
  readonly take: (delivery: Delivery) => void;
  /** How many more it would take now. */
  readonly room: () => number;
  /** Its room, when it holds nothing. */
  readonly capacity: number;
  /** Sets the function that is called when there is more room. */
  readonly onRoom: (callback: () => void) => void;
  /** Resolves when what it works on has ended. What has not begun goes back, and so does what comes later. */
  readonly stop: () => Promise<void>;
}

/** JSON of a broker's message; a text that is none stays as it is, for the reader to refuse. */
export function parseBody(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
