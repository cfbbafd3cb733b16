// Chaos: the checker is checked. Tock with a fault built in must be found out by the history of a story.
import { describe, expect, it } from 'vitest';
import { buildMutant, HEALTHY } from './mutant-build.js';
import { PLANTED } from './planted-faults.js';
import { STORIES } from './stories.js';
import { tellStory } from './story.js';

describe('a story of faults', () => {
  it.each(Object.entries(STORIES))('%s: all invariants hold', async (_name, story) => {
    expect(await tellStory(HEALTHY, story)).toEqual([]);
  });
});

describe('the history finds out', () => {
  const told = PLANTED.flatMap(fault => {
    const story = (STORIES as Readonly<Record<string, (typeof STORIES)['kills']>>)[fault.how];
    return story === undefined ? [] : [{ ...fault, story }];
  });
  it.each(told)('$name', async ({ story, changes, alterations, found }) => {
    const build = changes.length === 0 ? HEALTHY : await buildMutant(changes);
    expect((await tellStory(build, story, alterations)).filter(line => found.test(line))).not.toEqual([]);
  });
});
