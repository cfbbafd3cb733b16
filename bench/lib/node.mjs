// All contestants run on one Node: 24 by default, because theirs need it. It comes with this package.
// In: '24' or 'own'. Out: whether the benchmark goes on in another process.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Starts the benchmark again on the wanted Node, unless this is it. The child's exit code becomes ours. */
export function useNode(wanted) {
  if (wanted !== '24' && wanted !== 'own') throw new Error(`--node ${wanted} is neither 24 nor own`);
  const [major = 0] = process.versions.node.split('.').map(Number);
  if (wanted === 'own' || major === 24 || process.env.TOCK_BENCH_NODE !== undefined) return false;
  const node = fileURLToPath(
    new URL(`../node_modules/node-${process.platform}-${process.arch}/bin/node`, import.meta.url),
  );
  if (!existsSync(node)) {
    console.error(`no Node 24 for ${process.platform} ${process.arch} here; this one is ${process.version}`);
    return false;
  }
  const child = spawn(node, process.argv.slice(1), {
    stdio: 'inherit',
    env: { ...process.env, TOCK_BENCH_NODE: node },
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal ? 1 : 0);
  });
  // Ctrl-C reaches the child by itself.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  return true;
}
