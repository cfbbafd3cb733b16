// What a page is given: the Tock, the reads, who looks, from which zone, and when.

import type { Hono } from 'hono';
import type { Frame } from '../answers/now/figures.js';
import type { Session } from '../answers/reads.js';
import type { Operator } from '../model/operator.js';
import type { Tock } from '../tock/types.js';

/** What an action says on the page that follows it. */
export interface Flash {
  readonly tone: 'ok' | 'bad';
  readonly message: string;
}

export type Query = Readonly<Record<string, string | number | null | undefined>>;

/** A database's place among several. */
export interface Among {
  readonly name: string;
  /** The address of the page of all. */
  readonly overview: string;
}

export interface View {
  /** Acts for `user`. */
  readonly tock: Tock;
  /** Read-only transactions with a statement timeout of 5 s; on a replica where one is configured. */
  readonly reads: Session;
  readonly user: Operator;
  /** Whether there is a session that can be ended: a button for it. */
  readonly canSignOut: boolean;
  /** The reader's IANA zone; `UTC` until the script has sent it. */
  readonly zone: string;
  /** The database's time when the request began. */
  readonly now: Date;
  /** An address under the base path. Values that are null, undefined or empty are left out. */
  readonly link: (path: string, query?: Query) => string;
  /** Path and query of this page, under the base path. */
  readonly here: string;
  readonly frame: Frame;
  /** Raised whenever open pages are told of something new: what was read before is not new enough. */
  readonly version: number;
  /** Paths of the pages that exist. */
  readonly pages: ReadonlySet<string>;
  readonly assets: { readonly style: string; readonly script: string; readonly icon: string };
  /** Where there are several databases: the name of this one, and the page of all. Else null. */
  readonly among: Among | null;
  /** What an action left for the reader of the next page. */
  readonly flash: Flash | null;
}

export type App = Hono<{ Variables: { view: View } }>;
