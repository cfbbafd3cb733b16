// Engine: workers claim the runs of fair keys only once the keys are ready in the database.
import { expect, it } from 'vitest';
import { followUp } from '../../../src/engine/materialize/follow-chains.js';
import type { Worker } from '../../../src/engine/worker/worker-interface.js';
import type { Database } from '../../../src/store/connection/database.js';
import { openDatabase } from '../../support/database.js';
import { engineOver } from '../../support/engine.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const test = openForEach(reuseTestTock);

it('are expected after the commit that makes their keys ready', async () => {
  await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`);
  await test.sql(`select tock.enqueue('send', '{"tenant": "a"}', queue => 'mail')`);
  const database = openDatabase({ connectionString: test.url });
  const events: string[] = [];
  // Regression: the worker claimed while the batch was not committed, found no key, and looked only later.
  const watched = Object.create(database, {
    transaction: {
      value: async (work: Parameters<Database['transaction']>[0]) => {
        const result = await database.transaction(work);
        events.push('committed');
        return result;
      },
    },
  }) as Database;
  const worker = { expect: () => events.push('expected') } as unknown as Worker;
  await followUp(engineOver(watched, [], { workers: new Set([worker]) }));
  expect(events).toEqual(['committed', 'expected']);
  await database.close();
});
