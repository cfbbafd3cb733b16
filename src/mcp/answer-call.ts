// One call of a tool: refused if the role does not suffice, checked, carried out, and answered as text.
// Knows nothing of the protocol.
import { explainDatabaseError } from '../answers/reads.js';
import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';
import { includesRole } from '../model/operator.js';
import { redact } from '../model/run/sanitize.js';
import { fenced, oneLine } from './fence.js';
import type { Agent, InputSchema, Tool } from './tool.js';

export interface Call {
  readonly name: string;
  readonly args: unknown;
}

export interface Text {
  readonly text: string;
  readonly isError: boolean;
}

/** Says what is wrong with arguments; null: nothing. */
export type CheckArgs = (schema: InputSchema, args: unknown) => Promise<string | null>;

/** @param schema of the database, for errors that name it */
export async function answerCall(
  agent: Agent,
  tools: readonly Tool[],
  { name, args }: Call,
  { check, schema }: { readonly check: CheckArgs; readonly schema: string },
): Promise<Text> {
  try {
    const tool = tools.find(each => each.name === name);
    if (tool === undefined)
      throw new TockError(
        'TOCK_NOT_FOUND',
        `there is no tool ${quote(name)}; there are ${tools.map(each => each.name).join(', ')}`,
      );
    const { role } = agent.operator;
    if (!includesRole(role, tool.role))
      throw new TockError(
        'TOCK_FORBIDDEN',
        `${name} needs the role ${tool.role}, and this server has the role ${role}: who configures it can start it as tock mcp --role ${tool.role}`,
      );
    const wrong = await check(tool.input, args);
    if (wrong !== null)
      throw new TockError('TOCK_BAD_OPTION', `the arguments of ${name} are wrong: ${wrong}`);
    const { lines, next } = await tool.call(agent, args as never);
    return { text: [fenced(lines), ...(next === undefined ? [] : [next])].join('\n'), isError: false };
  } catch (error) {
    return { text: fenced([errorLine(error, schema)]), isError: true };
  }
}

function errorLine(thrown: unknown, schema: string): string {
  const error = explainDatabaseError(thrown, schema);
  const code = error instanceof TockError ? error.code : 'UNEXPECTED';
  return oneLine(`${code}: ${redact(error instanceof Error ? error.message : String(error))}`);
}
