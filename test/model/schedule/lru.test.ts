import { describe, expect, it } from 'vitest';
import { createLru } from '../../../src/model/schedule/lru.js';

describe('createLru', () => {
  it('drops the least recently used entry', () => {
    const cache = createLru<number>(2);
    cache.set('a', 1);
    cache.set('b', 2);
    expect(cache.get('a')).toBe(1);
    cache.set('c', 3);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
  });

  it('never holds more than its limit', () => {
    const cache = createLru<number>(10);
    for (let index = 0; index < 1000; index++) cache.set(`${index % 50}`, index);
    expect(cache.size).toBe(10);
    expect(cache.get('49')).toBe(999);
  });

  it('replaces an entry instead of adding one', () => {
    const cache = createLru<number>(2);
    cache.set('a', 1);
    cache.set('b', 2);
    cache.set('a', 3);
    expect([cache.size, cache.get('a'), cache.get('b')]).toEqual([2, 3, 2]);
  });
});
