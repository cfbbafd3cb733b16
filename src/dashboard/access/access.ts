// Authentication: who makes a request, and how to sign in. The pages know nothing else of it.
import type { Operator } from '../../model/operator.js';

export interface Access {
  /** Who makes the request. Null: it is refused. */
  readonly authorize: (request: Request) => Promise<Operator | null>;
  /** Of a request that was refused: for how many seconds no password is looked at. Absent: always 0. */
  readonly secondsToWait?: (request: Request) => number;
  /** For a person who is refused: how to sign in, in a sentence or two. */
  readonly howTo: string;
  /** The header `www-authenticate` of refusals. Null: none. */
  readonly challenge: string | null;
  /** Whether requests for a host's name are answered. Null: any, because the app around it decides. */
  readonly answersTo: ((hostname: string) => boolean) | null;
  /** Further origins of the pages, such as `https://ops.example.com`, beside that which a request names. */
  readonly origins: readonly string[];
  /** One-time links. Null: there are none. */
  readonly signIn: {
    /** The name of the cookie that a link gives. */
    readonly cookie: string;
    readonly exchange: (token: string) => SignIn;
    /** Ends the session of the request. */
    readonly end: (request: Request) => void;
  } | null;
}

/** The value of a session's cookie, or why there is none. */
export type SignIn = { readonly cookie: string } | { readonly refusal: string };
