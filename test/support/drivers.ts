// Room: test support. Drivers for PostgreSQL that apps have in place of pg, from a folder of their own.
// In: a driver's name. Out: its module.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const FOLDER = path.join(import.meta.dirname, '..', 'drivers');

/** For `it.skipIf`. Fails where TOCK_NEEDS_DRIVERS asks for them. */
export function lacksDrivers(): boolean {
  if (existsSync(path.join(FOLDER, 'node_modules'))) return false;
  if (process.env['TOCK_NEEDS_DRIVERS'] !== undefined)
    throw new Error('the drivers are not installed: (cd test/drivers && npm ci)');
  return true;
}

/** Loads a driver from its own folder. */
export async function loadDriver<Module>(name: string): Promise<Module> {
  const file = createRequire(path.join(FOLDER, 'package.json')).resolve(name);
  return (await import(pathToFileURL(file).href)) as Module;
}
