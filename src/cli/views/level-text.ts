// How healthy something is, as a word and as a sign.
import type { HealthLevel } from '../../model/problems.js';
import { type Colour, paint } from '../terminal.js';

const COLOURS: Readonly<Record<HealthLevel, Colour>> = {
  ok: 'green',
  unknown: 'cyan',
  warning: 'yellow',
  failing: 'red',
};
const SIGNS: Readonly<Record<HealthLevel, string>> = { ok: '✓', unknown: '?', warning: '!', failing: '✗' };

export const paintLevel = (level: HealthLevel): string => paint(COLOURS[level], level);

/** Shape says what colour says. */
export const paintSign = (level: HealthLevel): string => paint(COLOURS[level], SIGNS[level]);
