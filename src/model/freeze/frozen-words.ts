// A freeze as a problem: not that something is wrong, but nobody should wonder why nothing starts.
import type { Words } from '../problem-words.js';
import { type Freeze, freezeText } from './freeze.js';

/** @param now the database's time */
export function frozenWords(frozen: Freeze, now: Date): Words {
  return {
    text: `everything is ${freezeText(frozen, now)}`,
    remedy: 'Nothing starts on any host until then; to end it sooner: tock thaw',
    onPage: 'Nothing starts on any host until then',
    command: 'tock thaw',
    link: '/freeze',
  };
}
