// Which methods an address knows: a GET on an action is 405, not a page that does not exist.

interface Route {
  readonly method: string;
  readonly path: string;
}

/** Finds the methods of an address, by the patterns of all routes: `/runs/:id/retry`. */
export function methodsByPath(routes: readonly Route[]): (path: string) => readonly string[] {
  const known = routes
    .filter(({ method, path }) => method !== 'ALL' && !path.includes('*'))
    .map(({ method, path }) => ({ method, pattern: patternOf(path) }));
  return path => {
    const methods = new Set(known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method));
    if (methods.has('GET')) methods.add('HEAD');
    return [...methods].sort();
  };
}

/** A parameter may have a pattern of its own: `:id{[0-9]+}`. */
function patternOf(path: string): RegExp {
  const source = path
    .split('/')
    .map(part => (part.startsWith(':') ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
    .join('/');
  return new RegExp(`^${source}$`);
}
