// Part of scripts/try-package.mjs: an app that emits declarations of its jobs, where it sees the packages that it names itself and no
// other: node_modules as pnpm lays them out, here by npm. Tried with each resolution, and with links followed and not.
import path from 'node:path';

const OLDEST = '5.4.5';
const JOBS = `import { createTock, defineHttpJob, defineJob, defineQueue, defineShellJob, typeOnly } from 'pg-tock';

export const plain = defineJob({ name: 'plain', run: () => undefined });
export const typed = defineJob({ name: 'typed', payload: typeOnly<{ id: number }>(), run: (_ctx, { id }) => ({ id }) });
export const batched = defineJob({ name: 'batched', batch: { size: 10 }, run: () => undefined });
export const effect = defineJob({ name: 'effect', run: ctx => ctx.once('key', () => Promise.resolve(1)) });
export const shell = defineShellJob({ name: 'shell', command: ['true'] });
export const http = defineHttpJob({ name: 'http', url: 'https://example.com' });
export const queue = defineQueue({ name: 'queue', concurrency: 1 });
export const tock = createTock({ connectionString: '', jobs: [plain, typed, shell] });
export const enqueue = async () => await tock.enqueue('typed', { id: 1 });
`;
const MODULES = [
  ['esnext', 'bundler'],
  ['node16', 'node16'],
  ['nodenext', 'nodenext'],
];

export async function tryLinked({ folder, run, say, write, tarball, newest }) {
  const cwd = path.join(folder, 'linked');
  const dependencies = {
    'pg-tock': `file:${tarball}`,
    '@types/node': '20.19.43',
    oldest: `npm:typescript@${OLDEST}`,
  };
  await write('linked/package.json', JSON.stringify({ name: 'linked', type: 'module', dependencies }));
  run(
    'npm',
    ['install', '--install-strategy=linked', '--no-audit', '--no-fund', '--silent', '--no-package-lock'],
    { cwd },
  );
  await write('linked/jobs.ts', JOBS);
  const oldest = path.join(cwd, 'node_modules', 'oldest', 'bin', 'tsc');
  for (const tsc of [oldest, newest])
    for (const [module, moduleResolution] of MODULES)
      for (const preserveSymlinks of [false, true]) {
        const compilerOptions = {
          module,
          moduleResolution,
          preserveSymlinks,
          strict: true,
          skipLibCheck: true,
          target: 'es2022',
          types: ['node'],
          declaration: true,
          outDir: 'out',
        };
        await write('linked/tsconfig.json', JSON.stringify({ compilerOptions, files: ['jobs.ts'] }));
        run(process.execPath, [tsc, '-p', 'tsconfig.json'], { cwd });
      }
  say('declarations of jobs compile where only what an app names itself is found');
}
