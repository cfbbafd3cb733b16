// Room for so many bytes at once, first come, first served.

export interface Room {
  /** Resolves when there is room for so many bytes; for one alone there is, however many it takes. */
  readonly take: (bytes: number) => Promise<void>;
  readonly give: (bytes: number) => void;
}

/** @param most bytes */
export function createRoom(most: number): Room {
  const waiting: { readonly bytes: number; readonly begin: () => void }[] = [];
  let taken = 0;
  const admit = () => {
    for (let next = waiting[0]; next && (taken === 0 || taken + next.bytes <= most); next = waiting[0]) {
      waiting.shift();
      taken += next.bytes;
      next.begin();
    }
  };
  return {
    take: bytes =>
      new Promise(begin => {
        waiting.push({ bytes, begin });
        admit();
      }),
    give(bytes) {
      taken -= bytes;
      admit();
    },
  };
}
