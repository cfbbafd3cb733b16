// What a posted form holds.

/** As hono's parseBody({ all: true }) gives it. */
export type Form = Readonly<Record<string, string | File | (string | File)[] | undefined>>;

/** The last value of a field, without spaces around it; null if it is empty or not there. */
export function textOf(form: Form, name: string): string | null {
  const value = [form[name] ?? []].flat().at(-1);
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' ? null : text;
}

/** The address that the form gives for the way back, if it is one of these pages; never another site's. */
export function backOr(form: Form, address: string): string {
  const back = textOf(form, 'back');
  return back !== null && /^\/(?![/\\])[^\\\s]*$/.test(back) ? back : address;
}
