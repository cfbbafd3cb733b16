// The jobs of this project. Tock reads this module.
import { dailyReport } from './daily-report.js';
import { mailReport } from './mail-report.js';
import { openTicket } from './open-ticket.js';
import { sendInvoice } from './send-invoice.js';

export const jobs = [sendInvoice, openTicket, dailyReport, mailReport] as const;
