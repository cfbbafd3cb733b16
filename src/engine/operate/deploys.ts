// Marks of deploys by operators.
import { checkDeploy, type DeployRecord, deployCode, type MarkOptions } from '../../model/deploys/deploys.js';
import { TockError } from '../../model/errors.js';
import { quote, storableNote } from '../../model/names.js';
import { readInstant } from '../../model/schedule/instant-text.js';
import { readDeploy } from '../../store/reads/runs/deploys.js';
import { markDeploy } from '../../store/runs/workers/deploys.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_TIME */
export async function markDeployed(
  engine: Engine,
  name: string,
  { at, note }: MarkOptions = {},
): Promise<DeployRecord> {
  const { database, operator, appName, logger } = engine;
  checkDeploy(name);
  const kept = { at: at === undefined ? null : isoOf(at), note: storableNote(note) };
  const record = await database.transaction(async session => {
    const by = operator?.name ?? appName;
    await markDeploy.run(session, { name, code: deployCode(name), by, ...kept });
    const marked = await readDeploy(session, name);
    if (marked === null) throw new Error('the deploy was not marked');
    await audit(session, engine, {
      action: 'deploys.mark',
      targets: [name],
      details: { at: marked.at.toISOString(), note: kept.note ?? undefined },
    });
    return marked;
  });
  logger.info(
    { event: 'deploy.marked', deploy: name, at: record.at.toISOString() },
    `deploy ${name} is marked`,
  );
  return record;
}

function isoOf(at: Date | string): string {
  try {
    return new Date(readInstant(at, 'at')).toISOString();
  } catch (error) {
    if (error instanceof TockError) throw new TockError('TOCK_BAD_TIME', error.message, { cause: error });
    throw new TockError('TOCK_BAD_TIME', `at ${quote(at)} is not a time`);
  }
}
