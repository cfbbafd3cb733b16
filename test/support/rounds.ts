// Room: test support. How often a test tries: a few times in `npm test`, all of them in `npm run check -- exhaustive chaos`
// (vitest.config.ts).

/** Gives `few`, or `many` where the tests are exhaustive. */
export const rounds = (few: number, many: number): number =>
  process.env['TOCK_TEST_ROUNDS'] === 'many' ? many : few;
