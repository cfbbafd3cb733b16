// A message from an action to the page that follows it, in a cookie that this page takes away.
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Flash, View } from './view.js';

const NAME = 'tock-flash';
const MAX_LENGTH = 1000;

/** Shows `message` once, on the next page of this reader. */
export function flash(
  c: Context<{ Variables: { view: View } }>,
  message: string,
  tone: Flash['tone'] = 'ok',
): void {
  setCookie(c, NAME, `${tone}:${message.slice(0, MAX_LENGTH).toWellFormed()}`, {
    path: c.get('view').link('') || '/',
    maxAge: 60,
    httpOnly: true,
    sameSite: 'Strict',
  });
}

/** The message that waits, which is taken away. */
export function takeFlash(c: Context, path: string): Flash | null {
  const text = getCookie(c, NAME);
  if (text === undefined) return null;
  deleteCookie(c, NAME, { path });
  const [, tone, message] = /^(ok|bad):([^]*)$/.exec(text) ?? [];
  return tone === undefined || message === undefined ? null : { tone: tone as Flash['tone'], message };
}
