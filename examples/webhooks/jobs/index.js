import { deliverPlain } from './deliver-plain.js';
import { deliverWebhook } from './deliver-webhook.js';

export const jobs = [deliverPlain, deliverWebhook];
