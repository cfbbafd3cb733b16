// The pages, one line each.
import { addConfirmPage } from './pages/confirm.js';
import { addNowPage } from './pages/now.js';
import type { App } from './view.js';

export function addPages(app: App): void {
  addNowPage(app);
  addConfirmPage(app);
}
