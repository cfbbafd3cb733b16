// Room: test support. The shells whose completion is tested. Only bash is everywhere.
// In: a shell's name. Out: whether it is missing, and the reason, once.
import { existsSync } from 'node:fs';

const FOLDERS = ['/bin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'];

/** For `describe.skipIf`. Fails where TOCK_NEEDS_SHELLS asks for all of them. */
export function hasNoShell(name: 'bash' | 'zsh' | 'fish' | 'script'): boolean {
  const places = [...(process.env['PATH'] ?? '').split(':').filter(folder => folder !== ''), ...FOLDERS];
  if (places.some(folder => existsSync(`${folder}/${name}`))) return false;
  if (process.env['TOCK_NEEDS_SHELLS'] !== undefined)
    throw new Error(`no ${name} is installed, and TOCK_NEEDS_SHELLS asks for it: apt-get install ${name}`);
  console.warn(`skipped: no ${name} here (apt-get install ${name})`);
  return true;
}
