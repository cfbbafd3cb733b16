// Room: test support. Drivers for PostgreSQL that apps have in place of pg, from a folder of their own.
// In: a driver's name. Out: its module.
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { lacks } from './needs.js';

const FOLDER = path.join(import.meta.dirname, '..', 'drivers');

/** For `it.skipIf`. */
export const lacksDrivers = () => lacks('drivers');

/** Loads a driver from its own folder. */
export async function loadDriver<Module>(name: string): Promise<Module> {
  const file = createRequire(path.join(FOLDER, 'package.json')).resolve(name);
  return (await import(pathToFileURL(file).href)) as Module;
}
