// What a run of mutants says to the terminal.
// In: verdicts. Out: a bar while it runs; survivors; a table of scores.

const FOUND = ['killed', 'timed out'];
const COUNTED = [...FOUND, 'survived', 'unreached'];

/** @returns {{ found: number, counted: number, percent: number }} equivalent and refused ones are not counted */
export function score(verdicts) {
  const counted = verdicts.filter(each => COUNTED.includes(each.status)).length;
  const found = verdicts.filter(each => FOUND.includes(each.status)).length;
  return { found, counted, percent: counted === 0 ? 100 : (100 * found) / counted };
}

/** A line that is written over and over: on a terminal alone. */
export function createProgress(stream = process.stderr) {
  const began = performance.now();
  const write = text => {
    if (stream.isTTY) stream.write(`\r\x1b[K${text.slice(0, (stream.columns ?? 80) - 1)}`);
  };
  return {
    say: write,
    clear: () => write(''),
    step(done, total, found, what) {
      const width = 24;
      const full = Math.round((width * done) / Math.max(1, total));
      const leftMs = ((performance.now() - began) / Math.max(1, done)) * (total - done);
      write(
        `[${'='.repeat(full)}${' '.repeat(width - full)}] ${done}/${total}, ${found} found out, ${minutes(leftMs)} left  ${what}`,
      );
    },
  };
}

const minutes = ms => (ms < 90_000 ? `${Math.ceil(ms / 1000)} s` : `${Math.ceil(ms / 60_000)} min`);

export function survivorLines(verdicts) {
  return verdicts
    .filter(each => each.status === 'survived' || each.status === 'unreached')
    .map(
      ({ mutant, status }) =>
        `${mutant.file}:${mutant.line}  ${mutant.change}\n    ${status === 'unreached' ? 'no test gets there' : 'no test fails'}; ${mutant.operator}; --only ${mutant.id}\n    ${mutant.text}`,
    );
}

export function equivalentLines(verdicts) {
  return verdicts
    .filter(each => each.status === 'equivalent')
    .map(({ mutant, by }) => `${mutant.file}:${mutant.line}  ${mutant.change}\n    ${by}`);
}

/** Rows of name, score, and how many of which kind. */
export function scoreTable(areas) {
  const rows = areas.map(({ name, verdicts }) => {
    const { found, counted, percent } = score(verdicts);
    const count = status => String(verdicts.filter(each => each.status === status).length);
    return [
      name,
      counted === 0 ? '-' : `${percent.toFixed(1)}%`,
      `${found}/${counted}`,
      count('survived'),
      count('unreached'),
      count('equivalent'),
      count('refused'),
    ];
  });
  const head = ['area', 'score', 'found', 'survived', 'not reached', 'equivalent', 'refused'];
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map(row => row[column].length)));
  return [head, ...rows]
    .map(row =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])))
        .join('  '),
    )
    .join('\n');
}
