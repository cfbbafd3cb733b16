// Room: test support. By what chance is told: the same each time in `npm test`, another each time in the check.
// In: TOCK_TEST_SEED, to repeat what failed; TOCK_TEST_ROUNDS (vitest.config.ts). Out: a seed; fast-check, which has it.
import fc from 'fast-check';

const FIXED = 20_251_129;

/** TOCK_TEST_SEED when set. */
export function newSeed(): number {
  const given = process.env['TOCK_TEST_SEED'];
  if (given !== undefined) return Number(given);
  return process.env['TOCK_TEST_ROUNDS'] === 'many' ? Math.floor(Math.random() * 2 ** 31) : FIXED;
}

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: newSeed() });

export { fc };
