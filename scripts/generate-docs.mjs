// Writes docs/state-machine.md from the table of transitions in src/model/run/states.ts.
//   node scripts/generate-docs.mjs            writes it
//   node scripts/generate-docs.mjs --check    fails when what is there says something else
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const target = path.join(root, 'docs', 'state-machine.md');

/** The states as the code has them: bundled, since Node does not read TypeScript. */
async function loadStates() {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-docs-'));
  try {
    const outfile = path.join(folder, 'states.mjs');
    await build({
      entryPoints: [path.join(root, 'src/model/run/states.ts')],
      outfile,
      bundle: true,
      format: 'esm',
      logLevel: 'error',
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const list = names => names.map(name => `\`${name}\``).join(', ');

/** @param {Awaited<ReturnType<typeof loadStates>>} states */
function describe({ TRANSITIONS, STATUS_MEANINGS, SKIP_REASONS, LIVE_STATUSES, FINISHED_STATUSES }) {
  const moves = Object.values(TRANSITIONS);
  /** A move's name, and where it leads if others of that name lead elsewhere. */
  const nameOf = ({ name, to }) =>
    moves.every(move => move.name !== name || move.to === to) ? name : `${name}: \`${to}\``;
  /** The names of the moves between two states. */
  const arrows = new Map();
  for (const { name, from, to } of moves)
    for (const state of from) {
      const between = `  ${state} --> ${to}: `;
      arrows.set(between, (arrows.get(between) ?? new Set()).add(name));
    }
  return `<!-- Generated from src/model/run/states.ts by \`npm run docs\`. Do not edit. -->

# The states of a run

Rows of runs that are live (${list(LIVE_STATUSES)}) are in \`job_runs_live\`, those of ended runs
(${list(FINISHED_STATUSES)}) in \`job_runs_finished\`.

\`\`\`mermaid
stateDiagram-v2
  [*] --> queued: enqueue, materialize
  [*] --> running: tock exec
  [*] --> skipped: materialize, tock exec
${[...arrows].map(([between, names]) => between + [...names].join(', ')).join('\n')}
${FINISHED_STATUSES.map(state => `  ${state} --> [*]`).join('\n')}
\`\`\`

| state | meaning |
| --- | --- |
${[...LIVE_STATUSES, ...FINISHED_STATUSES].map(state => `| \`${state}\` | ${STATUS_MEANINGS[state]} |`).join('\n')}

## The moves

A row changes its state as drawn and in no other way. Moves by the \`holder\` must match the run's id, its fence, and the
worker that holds the lease; where they do not, they change nothing. A run that is [handed off](hand-off.md) stays
\`running\`: \`tock.complete\` and \`tock.fail\` decide which of the holder's moves is made, under the same fence. A run of
[\`tock exec\`](shell-jobs.md#tock-exec) is \`running\` until it has ended.

| move | by | when |
| --- | --- | --- |
${moves.map(move => `| ${nameOf(move)} | ${move.by} | ${move.when} |`).join('\n')}

## Why an occurrence was skipped

| reason | meaning |
| --- | --- |
${Object.entries(SKIP_REASONS)
  .map(([reason, meaning]) => `| \`${reason}\` | ${meaning} |`)
  .join('\n')}
`;
}

const text = describe(await loadStates());
if (!process.argv.includes('--check')) {
  await writeFile(target, text);
  console.log('wrote docs/state-machine.md');
} else if ((await readFile(target, 'utf8').catch(() => '')) === text) {
  console.log('docs/state-machine.md is up to date');
} else {
  console.error('docs/state-machine.md is not what src/model/run/states.ts says: run npm run docs');
  process.exitCode = 1;
}
