// A URL with secrets, which may be replaced while a process runs.

/** A URL, or a function that returns it, called for each new connection. */
export type CurrentUrl = string | (() => string);

/** As it is now. */
export const urlNow = (url: CurrentUrl): string => (typeof url === 'string' ? url : url());
