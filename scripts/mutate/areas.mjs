// What is mutated, and by which tests each mutant must be found out.
// In: nothing. Out: areas, each with its sources and its test files, the quick ones first.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './mutants.mjs';

const model = names => names.map(name => `src/model/${name}.ts`);
const store = names => names.map(name => `src/store/${name}.ts`);
const engine = names => names.map(name => `src/engine/${name}.ts`);
const tests = (folder, names) => names.map(name => `test/${folder}/${name}.test.ts`);

/** The areas whose score is held. */
export const AREAS = [
  {
    name: 'decide',
    sources: model(['decide', 'states', 'retry', 'limits']),
    tests: [...tests('model', ['decide', 'states', 'retry', 'limits']), ...tests('store', ['states'])],
  },
  {
    name: 'claim',
    sources: [...engine(['claim', 'worker']), ...store(['claim-runs', 'claimed-run', 'admit-runs'])],
    tests: [
      ...tests('store', ['claim-runs', 'claimed-run', 'admit-runs', 'plans']),
      ...tests('engine', [
        'claim',
        'lease',
        'told',
        'windows',
        'life',
        'limits',
        'overlap',
        'pipeline',
        'run-tick',
        'effects',
        'daemon',
      ]),
      ...tests('chaos', ['over-lock']),
    ],
  },
  {
    name: 'finalize',
    sources: [...engine(['finalize']), ...store(['finalize-runs', 'leases', 'transition'])],
    tests: [
      ...tests('store', ['finalize-runs', 'transition', 'plans']),
      ...tests('engine', ['finalize', 'lease', 'windows', 'limits', 'pipeline', 'effects', 'chains']),
      ...tests('chaos', ['inputs', 'deadlock', 'connection']),
    ],
  },
  {
    name: 'reap',
    sources: [...engine(['reap']), ...store(['reap-runs'])],
    tests: [
      ...tests('store', ['reap-runs']),
      ...tests('engine', ['reap', 'lease', 'limits', 'chains', 'run-tick', 'idle-tick']),
    ],
  },
  {
    name: 'materialize',
    sources: [...engine(['materialize', 'occurrence-rows']), ...store(['enqueue-runs'])],
    tests: [
      ...tests('store', ['enqueue-runs']),
      ...tests('engine', [
        'materialize',
        'overlap',
        'register',
        'schedules',
        'schedule-edges',
        'windows',
        'chains',
        'enqueue',
        'enqueue-many',
        'unique',
      ]),
    ],
  },
  {
    name: 'effects',
    sources: engine(['effects', 'heartbeat', 'execute']),
    tests: [
      ...tests('engine', ['effects', 'lease', 'life', 'limits', 'windows', 'pipeline', 'daemon']),
      ...tests('chaos', ['connection']),
    ],
  },
];

const filesOf = (folder, ending) =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith(ending))
    .map(name => path.join(folder, name))
    .sort();

/** The rest of model, store and engine, a room each: for --all. */
export function rooms() {
  const held = new Set(AREAS.flatMap(area => area.sources));
  return ['model', 'store', 'engine'].map(room => ({
    name: `${room}, the rest`,
    sources: filesOf(`src/${room}`, '.ts').filter(file => !held.has(file)),
    tests: [
      ...filesOf(`test/${room}`, '.test.ts'),
      ...(room === 'store' ? filesOf('test/engine', '.test.ts') : []),
    ],
  }));
}
