// Addresses under the base path.
import type { View } from './view.js';

export function makeLink(basePath: string): View['link'] {
  return (path, query = {}) => {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      if (value !== null && value !== undefined && value !== '') search.set(name, `${value}`);
    const text = search.toString();
    return `${basePath}${path}${text === '' ? '' : `?${text}`}`;
  };
}

/** Fits no route. */
export const OUTSIDE = '*';

/** The path as the routes know it; {@link OUTSIDE} for one that is not below the base path. */
export function withoutBase(pathname: string, basePath: string): string {
  if (basePath === '') return pathname;
  if (pathname === basePath) return '/';
  return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : OUTSIDE;
}
