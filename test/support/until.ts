// Room: test support. Waiting for a condition, without the test runner, so that scripts may use it too.
// In: a question. Out: its answer, once it has one.

/** Resolves when `check` gives something other than null, undefined or false; looks again until `withinMs` is over. */
export async function until<T>(
  check: () => Promise<T | null | undefined | false>,
  what: string,
  withinMs = 120_000,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const found = await check();
    if (found !== null && found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}
