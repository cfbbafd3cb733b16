// The pages, one line each.
import { addNowPage } from './pages/now.js';
import type { App } from './view.js';

export function addPages(app: App): void {
  addNowPage(app);
}
