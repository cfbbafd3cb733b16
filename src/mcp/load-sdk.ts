// The official SDK of the protocol, an optional package, which is loaded when `tock mcp` is called.
import { TockError } from '../model/errors.js';

/** A name that the build does not see: the package is the project's, not a part of Tock's bundles. */
const SDK: string = '@modelcontextprotocol/server';

// oxlint-disable-next-line typescript/consistent-type-imports -- loaded late, by a variable
type Protocol = typeof import('@modelcontextprotocol/server');
// oxlint-disable-next-line typescript/consistent-type-imports -- loaded late, by a variable
type Stdio = typeof import('@modelcontextprotocol/server/stdio');

export type Sdk = Protocol & Stdio;

/** @throws TockError TOCK_BAD_OPTION with the command that installs it */
export async function loadSdk(): Promise<Sdk> {
  try {
    const loaded = [import(SDK) as Promise<Protocol>, import(`${SDK}/stdio`) as Promise<Stdio>] as const;
    const [protocol, stdio] = await Promise.all(loaded);
    return { ...protocol, ...stdio };
  } catch (cause) {
    throw new TockError('TOCK_BAD_OPTION', `the package ${SDK} is missing: npm install ${SDK}`, { cause });
  }
}
