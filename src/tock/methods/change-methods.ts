// Follows the changes of runs, also before the engine is loaded.
import type { Engine } from '../../engine/engine.js';
import { type ChangeFeed } from '../../engine/operate/changes/change-feed.js';
import { subscribe } from '../../engine/operate/changes/subscribe.js';
import type { ChangeMethods } from '../../model/changes/change.js';
import { checked } from '../check-options.js';

export function changeMethods(open: () => Engine, feed: ChangeFeed): ChangeMethods {
  return { subscribe: options => subscribe(open(), feed, checked('changes.subscribe', options)) };
}
