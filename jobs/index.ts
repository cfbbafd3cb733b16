// Room: jobs. The jobs of this project: what a tick, a worker and the command line know.
// In: one module per job. Out: `jobs`, the array that TOCK_JOBS points to by default.
import checkScheduler from './check-scheduler.js';
import deliverWebhook from './deliver-webhook.js';
import pruneHistory from './prune-history.js';
import sendInvoiceReminders from './send-invoice-reminders.js';
import weeklyRunReport from './weekly-run-report.js';

export const jobs = [checkScheduler, deliverWebhook, pruneHistory, sendInvoiceReminders, weeklyRunReport];
