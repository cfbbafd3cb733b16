// The pages, one line each.
import { addLoadPage } from './pages/load.js';
import { addNowPage } from './pages/now.js';
import { addSchedulePage } from './pages/schedule.js';
import { addSchedulesPage } from './pages/schedules.js';
import type { App } from './view.js';

export function addPages(app: App): void {
  addNowPage(app);
  addSchedulesPage(app);
  addSchedulePage(app);
  addLoadPage(app);
}
