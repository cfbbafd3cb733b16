// A client of one host among several. It is connected once the host has said that it is what is wanted.
import type pg from 'pg';
import { type DatabaseHost, type HostAttempt, misfit } from '../../../model/database/hosts.js';
import { tlsTrouble } from '../../../model/database/tls.js';
import { formatDuration } from '../../../model/duration.js';
import { redact } from '../../../model/run/sanitize.js';
import { type ClientClass, type ConnectCallback, clientClass } from '../client-class.js';
import { messageOf, sqlState } from '../errors.js';
import { OWN_TYPES } from '../values/own-types.js';

// Imported as an ES module, it loads Node's worker threads from Node 24 on.
const { callbackify } = process.getBuiltinModule('node:util');

const QUESTION = `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly"`;

/** Why a host was not taken. */
export class HostFailure extends Error {
  readonly host: DatabaseHost;
  /** The end of a sentence that begins with the host. */
  readonly reason: string;
  constructor(host: DatabaseHost, reason: string, options?: ErrorOptions) {
    super(`${host.name} ${reason}`, options);
    this.host = host;
    this.reason = reason;
  }
}

const hostsOfClients = new WeakMap<object, DatabaseHost>();

/** The host that a client of a list of hosts is connected to; null for other clients. */
export const hostOf = (client: object): DatabaseHost | null => hostsOfClients.get(client) ?? null;

/**
 * The class of the clients of a pool. Connecting rejects with a {@link HostFailure}, after `withinMs` at the
 * latest, and as long again for the question.
 * @param next called for each new client: where it connects to
 */
export function hostClientClass(next: () => HostAttempt, withinMs: number): ClientClass {
  const Client = clientClass(options => ({ ...options, connectionTimeoutMillis: withinMs }));
  return class HostClient extends Client {
    private readonly attempt: HostAttempt;

    // The pool passes its options.
    constructor(options?: pg.ClientConfig) {
      const attempt = next();
      super({ ...options, connectionString: attempt.host.url });
      this.attempt = attempt;
      hostsOfClients.set(this, attempt.host);
      // Until the pool listens: Node ends the process for an 'error' without a listener.
      this.on('error', () => undefined);
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: ConnectCallback): void;
    override connect(callback?: ConnectCallback): Promise<pg.Client> | undefined {
      const connectAndAsk = () => this.connectAndAsk();
      if (callback === undefined) return connectAndAsk();
      callbackify(connectAndAsk)(callback as (error: Error | null, client: pg.Client) => void);
      return undefined;
    }

    private async connectAndAsk(): Promise<pg.Client> {
      const { host, target } = this.attempt;
      try {
        await super.connect();
        const reason = target === 'any' ? null : misfit(target, await this.ask());
        if (reason === null) return this;
        throw new HostFailure(host, reason);
      } catch (error) {
        // The pool does not end what it could not connect. A frozen server must not keep the process alive.
        (this as unknown as { unref(): void }).unref();
        void this.end().catch(() => undefined);
        if (error instanceof HostFailure) throw error;
        throw new HostFailure(host, whyNot(error, withinMs), { cause: error });
      }
    }

    private async ask(): Promise<{ readonly isStandby: boolean; readonly isReadOnly: boolean }> {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(TIMEOUT)), withinMs);
      });
      const asked = this.query<{ isStandby: boolean; isReadOnly: boolean }>({
        text: QUESTION,
        types: OWN_TYPES,
      });
      // Rejected by the end of the connection, when nobody waits for it any more.
      asked.catch(() => undefined);
      const { rows } = await Promise.race([asked, late]).finally(() => clearTimeout(timer));
      return rows[0] ?? { isStandby: true, isReadOnly: true };
    }
  };
}

/** What pg says too. */
const TIMEOUT = 'timeout expired';

const BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'closed the connection',
  EPIPE: 'closed the connection',
  ENOENT: 'has no socket',
  ENOTFOUND: 'is not a known host name',
  EAI_AGAIN: 'is not known to the name server for now',
  EHOSTUNREACH: 'is not reachable from here',
  ENETUNREACH: 'is not reachable from here',
  ETIMEDOUT: 'did not answer',
};

function whyNot(error: unknown, withinMs: number): string {
  const message = redact(messageOf(error)).replace(/\s+/g, ' ');
  if (message === TIMEOUT) return `did not answer within ${formatDuration(withinMs)}`;
  if (sqlState(error)?.startsWith('57P0')) return 'is starting or stopping';
  const trouble = tlsTrouble(error);
  if (trouble !== null) return `${trouble.reason}: ${trouble.remedy}`;
  const code = (error as { readonly code?: unknown } | null)?.code;
  const known = typeof code === 'string' ? BY_CODE[code] : undefined;
  if (known !== undefined) return known;
  return /^connection terminated/i.test(message) ? 'closed the connection' : `said: ${message}`;
}
