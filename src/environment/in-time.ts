// How long somebody waits for work that may take longer.

/**
 * What the work resolves to, or null if it takes longer than `ms`. Then it goes on, and its error has nobody
 * left to hear it.
 */
export async function inTime<T>(work: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>(resolve => {
    timer = setTimeout(() => resolve(null), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}
