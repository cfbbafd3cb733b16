// The user of the operating system. In a container it may have neither a name nor a home, and Node then
// throws.
import { homedir, userInfo } from 'node:os';

/** Its name; null where it has none. */
export function osUserName(): string | null {
  try {
    return userInfo().username;
  } catch {
    return null;
  }
}

/** Its name, else `uid 1000`. */
export function osUser(): string {
  return osUserName() ?? `uid ${process.getuid?.() ?? 'unknown'}`;
}

/** HOME, else its home; null where it has none. */
export function osHome(): string | null {
  try {
    return homedir();
  } catch {
    return null;
  }
}
