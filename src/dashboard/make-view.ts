// What a page is given with each request.

import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import { readFrame } from '../answers/now/figures.js';
import type { Session } from '../answers/reads.js';
import type { Operator } from '../model/operator.js';
import type { Tock } from '../tock/types.js';
import type { Access } from './access/access.js';
import { readerZone } from './access/zone.js';
import type { Assets } from './assets.js';
import { takeFlash } from './flash.js';
import { makeLink } from './links.js';
import type { Watch } from './live/watch.js';
import type { Among, View } from './view.js';

export interface ViewOptions {
  readonly tock: Tock;
  readonly reads: () => Promise<Session>;
  readonly basePath: string;
  readonly among: Among | null;
  readonly access: Access;
}

type MakeView = (c: Context, user: Operator, pages: ReadonlySet<string>) => Promise<View>;

/** One statement for each view. */
export function makeViews(
  { tock, reads, basePath, among, access }: ViewOptions,
  { style, script, icon }: Assets,
  watch: Pick<Watch, 'version'>,
): MakeView {
  const link = makeLink(basePath);
  const assets = { style: link(style.path), script: link(script.path), icon: link(icon.path) };
  return async (c, user, pages) => {
    const session = await reads();
    const { version } = watch;
    const frame = await readFrame(session);
    const { pathname, search } = new URL(c.req.url);
    // A page that is fetched to be merged into another does not show what an action left.
    const isMerged = c.req.header('hx-request') !== undefined;
    return {
      tock: tock.as(user),
      reads: session,
      user,
      canSignOut: access.signIn !== null,
      zone: readerZone(getCookie(c, 'tock-zone')),
      now: frame.now,
      link,
      here: `${pathname}${search}`,
      frame,
      version,
      pages,
      assets,
      among,
      flash: isMerged || c.req.method !== 'GET' ? null : takeFlash(c, link('') || '/'),
    };
  };
}
