// Whether the tests of an area find a mutant out.
// In: a mutant, the tests that could, a host that runs them. Out: killed, and by which test; or survived.

/** How many of the tests that found out the mutant the last time, and its neighbours, are asked first. */
const FIRST_SHOTS = 4;
/** A test may take this many times as long as without the mutant, and a minute. */
const PATIENCE = 6;

/**
 * @typedef {{ status: 'killed' | 'survived' | 'unreached' | 'timed out' | 'refused', by: string | null }} Verdict
 *   refused: PostgreSQL could not even read the statement, or the compiler refuses the source, so that nothing is said
 *   about the tests
 */

/**
 * A test that ran out of time counts only if it does not do so without the mutant.
 *
 * @returns {(mutant: import('./mutants.mjs').Mutant, host: ReturnType<typeof import('./hosts.mjs').createHost>, area: object) => Promise<Verdict>}
 */
export function createJudge({ testsOf, killers }) {
  const lately = new Map();

  return async (mutant, host, area) => {
    const shots = shotsFor(mutant, area);
    if (shots.length === 0) return { status: 'unreached', by: null };
    for (const shot of shots) {
      for (let files = shot; files.length > 0; ) {
        const { test, isDoubtful, ...verdict } = read(await ask(host, files, mutant), mutant.isSql);
        if (verdict.status === 'survived') break;
        // Without coverage it is not known that the test passes without the mutant.
        const isToCheck = test !== undefined && (isDoubtful || testsOf === null);
        if (isToCheck && (await failsAnyway(host, test))) {
          files = without(files, test);
          continue;
        }
        remember(mutant, verdict);
        return verdict;
      }
    }
    return { status: 'survived', by: null };
  };

  /**
   * First the tests that found out its neighbours, then all others: those files first that are soon done and have
   * found out much in its source.
   */
  function shotsFor(mutant, area) {
    if (testsOf === null) return [area.tests.map(file => ({ file, tests: null }))];
    const own = testsOf(mutant).filter(test => area.tests.includes(test.file));
    const names = [...new Set([killers[mutant.id]?.by, ...(lately.get(placeOf(mutant)) ?? [])])];
    const first = names
      .flatMap(name => own.filter(test => nameOf(test.file, test.name) === name))
      .slice(0, FIRST_SHOTS);
    const hits = Object.values(killers).filter(each => each.source === mutant.file);
    const rank = ({ file, tests }) =>
      (timeOf(tests) + 100) / (1 + hits.filter(({ by }) => by.startsWith(`${file} › `)).length);
    const left = byFile(own.filter(test => !first.includes(test))).sort((a, b) => rank(a) - rank(b));
    return [byFile(first), left].filter(files => files.length > 0);
  }

  function remember(mutant, { by }) {
    if (by === null) return;
    killers[mutant.id] = { source: mutant.file, by };
    const place = placeOf(mutant);
    lately.set(place, [by, ...(lately.get(place) ?? []).filter(each => each !== by)].slice(0, FIRST_SHOTS));
  }
}

const nameOf = (file, name) => `${file} › ${name}`;
/** Mutants within ten lines are mostly of one statement. */
const placeOf = ({ file, line }) => `${file}:${Math.floor(line / 10)}`;
const timeOf = tests => tests.reduce((sum, test) => sum + test.ms, 0);

function byFile(tests) {
  const files = new Map();
  for (const test of tests) files.set(test.file, [...(files.get(test.file) ?? []), test]);
  return [...files].map(([file, own]) => ({ file, tests: own }));
}

const ask = (host, files, { file, code }) => {
  const usualMs = Math.max(...files.flatMap(({ tests }) => tests?.map(test => test.ms) ?? 10_000));
  const asked = files.map(({ file: name, tests }) => ({
    file: name,
    testIds: tests?.map(({ id }) => id) ?? null,
  }));
  return host.ask({ files: asked, source: file, code }, usualMs * PATIENCE + 60_000);
};

/** Whether a test, or a file where no test is named, fails without the mutant too: the machine may be busy. */
async function failsAnyway(host, { file, id }) {
  const answer = await host.ask({ files: [{ file, testIds: id === null ? null : [id] }] }, 300_000);
  return (
    answer === null ||
    answer.errors.length > 0 ||
    answer.files[0].errors.length > 0 ||
    answer.files[0].tests.some(test => test.state === 'failed')
  );
}

const without = (files, { file, id }) =>
  files.flatMap(each => {
    if (each.file !== file) return [each];
    const tests = id === null ? [] : (each.tests?.filter(test => test.id !== id) ?? []);
    return tests.length === 0 ? [] : [{ ...each, tests }];
  });

/** A failure of which something else may be the cause. */
const isDoubt = message => /timed out in \d+ms|waited in vain|Connection terminated/.test(message ?? '');

/** The verdict, and the test that gave it. What PostgreSQL cannot read is refused where the mutant is in SQL. */
function read(answer, isSql) {
  if (answer === null) return { status: 'timed out', by: null, isDoubtful: false };
  const refused = text =>
    isSql && text !== undefined ? { status: 'refused', by: text, isDoubtful: false } : null;
  for (const { file, tests, errors, meta } of answer.files) {
    const failed = tests.find(test => test.state === 'failed');
    if (failed === undefined && errors.length === 0) continue;
    const test = { file, id: failed?.id ?? null };
    const killed = failed
      ? { status: 'killed', by: nameOf(file, failed.name), test, isDoubtful: isDoubt(failed.message) }
      : { status: 'killed', by: `${file}: ${errors[0]}`, test, isDoubtful: true };
    return refused(failed?.refused ?? meta.refused) ?? killed;
  }
  if (answer.errors.length === 0) return { status: 'survived', by: null };
  const { meta } = answer.files.find(each => each.meta.refused !== undefined) ?? {};
  return refused(meta?.refused) ?? { status: 'killed', by: answer.errors[0], isDoubtful: false };
}
