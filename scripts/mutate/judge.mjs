// Whether the tests of an area find a mutant out.
// In: a mutant, the tests that could, a host that runs them. Out: killed, and by which test; or survived.

/** So many of the tests that found out the mutant the last time, and its neighbours, are asked first. */
const FIRST_SHOTS = 4;
/** A test may take so many times as long as without the mutant, and a minute. */
const PATIENCE = 6;

/**
 * @typedef {{ status: 'killed' | 'survived' | 'unreached' | 'timed out' | 'refused', by: string | null }} Verdict
 *   refused: PostgreSQL could not even read the statement, or the compiler refuses the source, so that nothing is said
 *   about the tests
 */

/** @returns {(mutant: import('./mutants.mjs').Mutant, host: ReturnType<typeof import('./hosts.mjs').createHost>, area: object) => Promise<Verdict>} */
export function createJudge({ testsOf, killers }) {
  const lately = new Map();

  return async (mutant, host, area) => {
    const shots = shotsFor(mutant, area);
    if (shots.length === 0) return { status: 'unreached', by: null };
    for (const files of shots) {
      const usualMs = Math.max(...files.flatMap(({ tests }) => tests?.map(test => test.ms) ?? 10_000));
      const message = {
        files: files.map(({ file, tests }) => ({ file, testIds: tests?.map(test => test.id) ?? null })),
        source: mutant.file,
        code: mutant.code,
      };
      const verdict = read(await host.ask(message, usualMs * PATIENCE + 60_000));
      if (verdict === null) continue;
      remember(mutant, verdict);
      return verdict;
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

/** Null where all tests passed. */
function read(answer) {
  if (answer === null) return { status: 'timed out', by: null };
  for (const { file, tests, errors, meta } of answer.files) {
    const failed = tests.find(test => test.state === 'failed');
    if (failed === undefined && errors.length === 0) continue;
    const refused = failed?.refused ?? meta.refused;
    if (refused !== undefined) return { status: 'refused', by: refused };
    return { status: 'killed', by: failed ? nameOf(file, failed.name) : `${file}: ${errors[0]}` };
  }
  if (answer.errors.length === 0) return null;
  const refused = answer.files.find(({ meta }) => meta.refused !== undefined)?.meta.refused;
  return refused === undefined
    ? { status: 'killed', by: answer.errors[0] }
    : { status: 'refused', by: refused };
}
