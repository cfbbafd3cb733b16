// One-time links and the sessions that they open. They are in memory: a restart signs everyone out, unless
// the next process gets what this one kept, as under `tock start --watch`.
import { createHash, randomBytes } from 'node:crypto';
import type { SignIn } from '../access/access.js';

const HOUR_MS = 3_600_000;
/** A session ends so long after it was last used. */
const IDLE_MS = 12 * HOUR_MS;
const MAX_SESSIONS = 100;
/** A use that only makes a session last longer is kept so seldom. */
const KEPT_MS = 60_000;
/** Bytes of chance in a token. */
const TOKEN_BYTES = 32;

/** With it the next process honours the same link and the same sessions. */
export interface KeptSessions {
  /** The token of the link that nobody has used yet. */
  readonly link: string;
  /** Until when each session lasts, by the digest of its token. */
  readonly expiries: readonly (readonly [digest: string, at: number])[];
}

export interface SessionsOptions {
  /** Milliseconds, from any beginning; from the same one as before, where `kept` is given. */
  readonly clock: () => number;
  /** Called with the token of each new link, and of one that was kept. */
  readonly onLink: (token: string) => void;
  /** From the process before. */
  readonly kept?: KeptSessions | undefined;
  /** Called whenever there is something else to be kept. */
  readonly onKept?: (kept: KeptSessions) => void;
}

export class Sessions {
  readonly #options: SessionsOptions;
  /** Digests of tokens, so that neither a comparison nor a dump of the memory gives one away. */
  readonly #expiries: Map<string, number>;
  readonly #used = new Set<string>();
  #link = '';
  #keptAt = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#expiries = new Map(options.kept?.expiries);
    this.#setLink(options.kept?.link ?? newToken());
  }

  /** Opens a session for the token of the current link, which is used up, and makes the next link. */
  exchange(token: string): SignIn {
    const digest = digestOf(token);
    if (digest !== digestOf(this.#link)) return { refusal: this.#used.has(digest) ? USED : UNKNOWN };
    this.#used.add(digest);
    const cookie = newToken();
    this.#forgetOld();
    this.#expiries.set(digestOf(cookie), this.#options.clock() + IDLE_MS);
    this.#setLink(newToken());
    return { cookie };
  }

  /** Whether a cookie names a session; if so, the session lasts longer. */
  has(cookie: string): boolean {
    const digest = digestOf(cookie);
    const expiry = this.#expiries.get(digest);
    const now = this.#options.clock();
    if (expiry === undefined || expiry < now) return false;
    // Last in the map is last in the order of being forgotten.
    this.#expiries.delete(digest);
    this.#expiries.set(digest, now + IDLE_MS);
    if (now - this.#keptAt >= KEPT_MS) this.#keep();
    return true;
  }

  /** Ends the session that a cookie names. */
  end(cookie: string): void {
    this.#expiries.delete(digestOf(cookie));
    this.#keep();
  }

  #setLink(token: string): void {
    this.#link = token;
    this.#options.onLink(token);
    this.#keep();
  }

  #keep(): void {
    this.#keptAt = this.#options.clock();
    this.#options.onKept?.({ link: this.#link, expiries: [...this.#expiries] });
  }

  #forgetOld(): void {
    const now = this.#options.clock();
    for (const [digest, expiry] of this.#expiries)
      if (expiry < now || this.#expiries.size >= MAX_SESSIONS) this.#expiries.delete(digest);
  }
}

const NEW_LINK =
  'The next one is shown in the terminal where the dashboard runs, or is in the file that its log names.';
const USED = `This link has been used, and works only once. ${NEW_LINK}`;
const UNKNOWN = `This link is not known here: the dashboard has been restarted since, or it is not complete. ${NEW_LINK}`;

const newToken = () => randomBytes(TOKEN_BYTES).toString('base64url');
/** The time that it takes to compare digests says nothing about the token. */
const digestOf = (token: string) => createHash('sha256').update(token).digest('base64');
