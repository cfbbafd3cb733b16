// One process with a warm vitest. It is killed from outside when a mutant never ends.
// In: messages: test files, which of their tests, a source file in another version. Out: how they ended.
import path from 'node:path';
import { createVitest } from 'vitest/node';

const ROOT = path.join(import.meta.dirname, '..', '..');
/** Sources that are other than on the disk, by path. */
const versions = new Map();
const plugin = {
  name: 'mutate',
  enforce: 'pre',
  load: id => versions.get(id.split('?')[0]) ?? null,
};

class AsAsked {
  shard = files => files;
  sort = files => files;
}

const { provided, sources, testTimeout } = await new Promise(resolve => process.once('message', resolve));
for (const [file, code] of Object.entries(sources)) versions.set(path.join(ROOT, file), code);

const vitest = await createVitest(
  'test',
  {
    root: ROOT,
    config: false,
    watch: false,
    // Whoever has asked waits no longer than a test may take, rather than all of them.
    reporters: [{ onTestCaseResult: () => void process.send({ isAlive: true }) }],
    silent: true,
    include: ['test/**/*.test.ts'],
    // As vitest.config.ts has it.
    tags: [{ name: 'check' }],
    // A thread is gone with its process: nothing is left behind when that is killed.
    pool: 'threads',
    maxWorkers: 1,
    // One thread for all files of a message, in the order in which they are asked for: most of the time would go into
    // loading the same modules again.
    isolate: false,
    sequence: { sequencer: AsAsked },
    bail: 0,
    testTimeout,
    hookTimeout: testTimeout,
    teardownTimeout: 1000,
    setupFiles: [path.join(ROOT, 'scripts', 'mutate', 'setup.mjs')],
    provide: provided,
  },
  { plugins: [plugin], logLevel: 'silent', server: { watch: null, hmr: false, ws: false } },
);
await vitest.standalone();

/** Runs test files, all of each or some of its tests; up to the first that fails, where it is a mutant's. */
async function run({ files, source, code }) {
  const changed = source === undefined ? null : path.join(ROOT, source);
  if (changed !== null) {
    versions.set(changed, code);
    vitest.invalidateFile(changed);
  }
  const project = vitest.getRootProject();
  project.config.bail = changed === null ? 0 : 1;
  const specifications = files.map(({ file, testIds }) =>
    project.createSpecification(path.join(ROOT, file), testIds === null ? undefined : { testIds }),
  );
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  if (changed !== null) {
    versions.delete(changed);
    vitest.invalidateFile(changed);
  }
  // It knows those of earlier runs too.
  const modules = specifications.map(({ moduleId }) => testModules.find(each => each.moduleId === moduleId));
  return {
    files: modules.map((module, index) => ({ file: files[index].file, ...resultOf(module) })),
    errors: unhandledErrors.map(textOf),
  };
}

function resultOf(module) {
  const tests = [...(module?.children.allTests() ?? [])].map(test => ({
    id: test.id,
    name: test.fullName,
    state: test.result().state,
    ms: Math.round(test.diagnostic()?.duration ?? 0),
    message: test.result().errors?.[0]?.message ?? null,
    ...test.meta(),
  }));
  return { tests, errors: (module?.errors() ?? []).map(textOf), meta: module?.meta() ?? {} };
}

const textOf = error => String(error.message ?? error);

process.on('message', message => {
  run(message).then(
    result => process.send({ ok: true, result }),
    error => process.send({ ok: false, error: String(error.stack ?? error) }),
  );
});
process.on('disconnect', () => process.exit());
process.send({ ok: true, result: null });
