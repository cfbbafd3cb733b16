// One answer for many readers: a page that several people watch asks the database once.

/** Keeps what `read` resolved to for `maxAgeMs`; those who ask meanwhile wait for the same read. */
export function cached<Input, T>(
  maxAgeMs: number,
  read: (input: Input) => Promise<T>,
  clock: () => number = () => performance.now(),
): (input: Input) => Promise<T> {
  let last: { readonly at: number; readonly value: Promise<T> } | null = null;
  return async input => {
    const now = clock();
    if (last !== null && now - last.at < maxAgeMs) return await last.value;
    const asked = { at: now, value: read(input) };
    last = asked;
    try {
      return await asked.value;
    } catch (error) {
      // A failure is not kept.
      if (last === asked) last = null;
      throw error;
    }
  };
}
