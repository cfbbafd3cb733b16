// Clients that are made of what a URL and the files it names are at that moment. A pool makes clients for
// callers that wait, where an error of the constructor would end the process: connecting rejects with it.
import pg from 'pg';
import { TockError } from '../../model/errors.js';
import { redact } from '../../model/run/sanitize.js';
import { isConnectionFailure, messageOf } from './errors.js';

export type ConnectCallback = ((error: Error) => void) | ((error: null, client: pg.Client) => void);
export type ClientClass = new (options?: pg.ClientConfig) => pg.Client;

/** What neither the environment nor a file can make invalid. */
const NOTHING = { ssl: false, sslnegotiation: 'postgres' } as pg.ClientConfig;

/** @param configure called for each client with the options of its pool; may throw */
export function clientClass(configure: (options: pg.ClientConfig) => pg.ClientConfig): ClientClass {
  return class Client extends pg.Client {
    private readonly failure: Error | null;

    // The pool passes its options.
    constructor(options: pg.ClientConfig = {}) {
      let failure: Error | null = null;
      try {
        super(configure(options));
      } catch (error) {
        super(NOTHING);
        failure = isConnectionFailure(error) ? (error as Error) : unreadable(error);
      }
      this.failure = failure;
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: ConnectCallback): void;
    override connect(callback?: ConnectCallback): Promise<pg.Client> | undefined {
      const { failure } = this;
      if (callback === undefined) return failure === null ? super.connect() : Promise.reject(failure);
      if (failure === null) super.connect(callback);
      else process.nextTick(callback, failure);
      return undefined;
    }
  };
}

/** What is wrong now may be right when the next connection is made. */
export function unreadable(error: unknown): TockError {
  if (error instanceof TockError && error.code === 'TOCK_DATABASE_UNREACHABLE') return error;
  return new TockError(
    'TOCK_DATABASE_UNREACHABLE',
    `cannot reach the database: its URL cannot be used (${redact(messageOf(error))}); write it as postgres://user:password@host:5432/database`,
    { cause: error },
  );
}
