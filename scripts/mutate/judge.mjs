// Whether the tests of an area find a mutant out.
// In: a mutant, the tests that could, a host that runs them. Out: killed, and by which test; or survived.

/** Which tests found out the last mutants of a place: asked first of the next one there. */
const FIRST_SHOTS = 3;
/** A run of a file may take this many times as long as without the mutant, and a minute. */
const PATIENCE = 6;

/**
 * @typedef {{ status: 'killed' | 'survived' | 'unreached' | 'timed out' | 'refused', by: string | null }} Verdict
 *   refused: PostgreSQL could not even read the statement, so that nothing is said about the tests
 */

/** @returns {(mutant: import('./mutants.mjs').Mutant, host: ReturnType<typeof import('./hosts.mjs').createHost>, area: object) => Promise<Verdict>} */
export function createJudge({ testsOf, killers }) {
  const lately = new Map();

  return async (mutant, host, area) => {
    const shots = shotsFor(mutant, area);
    if (shots.length === 0) return { status: 'unreached', by: null };
    for (const { file, tests } of shots) {
      const testIds = tests?.map(test => test.id) ?? null;
      const usualMs = tests?.reduce((sum, test) => sum + test.ms, 0) ?? 30_000;
      const message = { testFile: file, testIds, source: mutant.file, code: mutant.code };
      const verdict = read(await host.ask(message, usualMs * PATIENCE + 60_000), file);
      if (verdict === null) continue;
      remember(mutant, verdict);
      return verdict;
    }
    return { status: 'survived', by: null };
  };

  /** One test file after the other: first the tests that found out its neighbours, then the file that is done soonest. */
  function shotsFor(mutant, area) {
    if (testsOf === null) return area.tests.map(file => ({ file, tests: null }));
    const own = testsOf(mutant).filter(test => area.tests.includes(test.file));
    const names = [killers[mutant.id], ...(lately.get(placeOf(mutant)) ?? [])];
    const first = own
      .filter(test => names.includes(nameOf(test.file, test.name)))
      .sort((a, b) => names.indexOf(nameOf(a.file, a.name)) - names.indexOf(nameOf(b.file, b.name)));
    const shot = first.filter(test => test.file === first[0]?.file).slice(0, FIRST_SHOTS);
    const left = own.filter(test => !shot.includes(test));
    const files = Object.entries(groupBy(left));
    return [
      ...(shot.length > 0 ? [[shot[0].file, shot]] : []),
      ...files.sort((a, b) => cost(a) - cost(b)),
    ].map(([file, tests]) => ({ file, tests }));
  }

  function remember(mutant, { by }) {
    if (by === null) return;
    killers[mutant.id] = by;
    const place = placeOf(mutant);
    lately.set(place, [by, ...(lately.get(place) ?? []).filter(each => each !== by)].slice(0, FIRST_SHOTS));
  }
}

const nameOf = (file, name) => `${file} › ${name}`;
/** Mutants within ten lines are mostly of one statement. */
const placeOf = ({ file, line }) => `${file}:${Math.floor(line / 10)}`;
const cost = ([, tests]) => tests.reduce((sum, test) => sum + test.ms, 1000);

function groupBy(tests) {
  const groups = {};
  for (const test of tests) (groups[test.file] ??= []).push(test);
  return groups;
}

/** Null where all tests of the file passed. */
function read(answer, file) {
  if (answer === null) return { status: 'timed out', by: null };
  const failed = answer.tests.find(test => test.state === 'failed');
  if (failed === undefined && answer.errors.length === 0) return null;
  const refused = failed?.refused ?? answer.meta.refused;
  if (refused !== undefined) return { status: 'refused', by: refused };
  return { status: 'killed', by: failed ? nameOf(file, failed.name) : `${file}: ${answer.errors[0]}` };
}
