// Part of scripts/try-package.mjs: the types of all entries, as old projects read them: by the lowest compilers that docs/jobs.md names
// and by a newer one, with the resolutions that such projects have, and without esModuleInterop.
import path from 'node:path';

/** The declarations of hono and pg need 5.7; who leaves those unchecked may have an older one. */
const LOWEST = { checked: '5.7.3', unchecked: '5.0.4' };
const NODE_TYPES = '20.19.43';
const MODULES = [
  ['commonjs', 'node10'],
  ['node16', 'node16'],
];

export async function tryOldTypeScript({ folder, run, say, write, tarball, newest, strict, jobs, uses }) {
  const cwd = path.join(folder, 'old');
  // The package too: the types of Node beside it must be such that these compilers can read them.
  const dependencies = {
    'pg-tock': `file:${tarball}`,
    '@types/node': NODE_TYPES,
    checked: `npm:typescript@${LOWEST.checked}`,
    unchecked: `npm:typescript@${LOWEST.unchecked}`,
  };
  await write('old/package.json', JSON.stringify({ name: 'old', type: 'commonjs', dependencies }));
  run('npm', ['install', '--no-audit', '--no-fund', '--silent', '--no-package-lock'], { cwd });
  await write('old/src/jobs.ts', jobs);
  await write('old/src/tock.ts', uses.replace('./JOBS', './jobs'));
  const old = { ...strict, target: 'es2022', lib: ['es2022'], types: ['node'], esModuleInterop: false };
  const compilerIn = name => path.join(cwd, 'node_modules', name, 'bin', 'tsc');
  for (const [module, moduleResolution] of MODULES)
    for (const [tsc, skipLibCheck] of [
      [compilerIn('checked'), false],
      [compilerIn('unchecked'), true],
      [newest, false],
    ]) {
      const compilerOptions = { ...old, module, moduleResolution, skipLibCheck };
      await write('old/tsconfig.json', JSON.stringify({ compilerOptions, files: ['src/tock.ts'] }));
      run(process.execPath, [tsc, '-p', 'tsconfig.json'], { cwd });
    }
  say(`TypeScript ${LOWEST.checked} reads the types, as does ${LOWEST.unchecked} with skipLibCheck`);
}
