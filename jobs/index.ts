// The jobs of this project. TOCK_JOBS points to this module's `jobs` by default.
import checkScheduler from './check-scheduler.js';
import deliverWebhook from './deliver-webhook.js';
import sendInvoiceReminders from './send-invoice-reminders.js';
import weeklyRunReport from './weekly-run-report.js';

export const jobs = [checkScheduler, deliverWebhook, sendInvoiceReminders, weeklyRunReport];
