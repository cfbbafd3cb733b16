// An agent that calls tools without the protocol: what `tock mcp` does with one call.
import { openReadSession } from '../../src/answers/reads.js';
import type { Tock } from '../../src/index.js';
import { answerCall, type Text } from '../../src/mcp/answer-call.js';
import { TOOLS } from '../../src/mcp/tools.js';
import type { Role } from '../../src/model/operator.js';
import { databaseOf } from '../../src/tock/database-of.js';

export interface CallOptions {
  readonly role?: Role;
  readonly seesPayloads?: boolean;
}

/** What the agent is told. The arguments are taken as they are: the SDK checks them. */
export async function ask(
  tock: Tock,
  name: string,
  args: object = {},
  { role = 'view', seesPayloads = false }: CallOptions = {},
): Promise<Text> {
  const operator = { name: 'probe for mia', via: 'agent', role, seesPayloads } as const;
  const agent = { tock: tock.as(operator), reads: openReadSession(await databaseOf(tock)), operator };
  return await answerCall(agent, TOOLS, { name, args }, { check: async () => null, schema: 'tock' });
}

/** The token that a dry run answered. */
export const tokenOf = ({ text }: Text): string => /confirm: "([0-9a-f-]+)"/.exec(text)?.[1] ?? 'no token';
