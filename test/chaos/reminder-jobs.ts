// The job module of the test of the reminders: the project's own job and nothing else. Bundled by esbuild.
import sendInvoiceReminders from '../../jobs/send-invoice-reminders.js';

export const jobs = [sendInvoiceReminders];
