// What a Tock does with runs.
import type { Engine } from '../../engine/engine.js';
import { edit } from '../../engine/operate/edit-run.js';
import { cancelMany, retryMany } from '../../engine/operate/many.js';
import { cancel, retry } from '../../engine/operate/runs.js';
import type { OutputOfId } from '../../model/job/run-id.js';
import { type Action, redacted } from '../../model/operator.js';
import { redactedLog } from '../../model/run/log/attempt-log.js';
import { requireSight } from '../../model/run/match/run-match.js';
import type { RunMethods } from '../../model/run/run-methods.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { readLog } from '../../store/reads/runs/run-log.js';
import { getRun, listRuns } from '../../store/reads/runs.js';
import { checked, required } from '../check-options.js';

/** @param may the engine that acts for the operator, whose role suffices */
export function runMethods(open: () => Engine, may: (action: Action) => Engine): RunMethods {
  const isHidden = ({ operator }: Engine) => operator?.seesPayloads === false;
  const shown = (engine: Engine, run: RunRecord) => (isHidden(engine) ? redacted(run) : run);
  return {
    // Only the compiler knows the output that an id's type carries.
    get: async <Id extends string>(id: Id) => {
      const engine = open();
      const run = await getRun(engine.database, id);
      return (run && shown(engine, run)) as RunRecord<OutputOfId<Id>> | null;
    },
    list: async (filter = {}) => {
      const engine = open();
      requireSight(engine.operator, checked('runs.list', filter));
      return (await listRuns(engine.database, filter)).map(run => shown(engine, run));
    },
    retry: async (id, options) => {
      const engine = may('runs.retry');
      return shown(engine, await retry(engine, id, checked('runs.retry', options)));
    },
    edit: async (id, options) => {
      const engine = may('runs.edit');
      return shown(engine, await edit(engine, id, required('runs.edit', options)));
    },
    cancel: async (id, options) => {
      const engine = may('runs.cancel');
      return shown(engine, await cancel(engine, id, checked('runs.cancel', options)));
    },
    log: async (id, options) => {
      const engine = open();
      const logs = await readLog(engine.database, id, checked('runs.log', options)?.attempt);
      return isHidden(engine) ? logs.map(redactedLog) : logs;
    },
    retryMany: async (match, options) => {
      const engine = may('runs.retry');
      return await retryMany(engine, required('runs.match', match), checked('runs.retryMany', options));
    },
    cancelMany: async (match, options) => {
      const engine = may('runs.cancel');
      return await cancelMany(engine, required('runs.match', match), checked('runs.cancelMany', options));
    },
  };
}
