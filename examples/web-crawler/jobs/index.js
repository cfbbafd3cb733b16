// The jobs and queues of this project. Tock reads this module.
import { defineQueue } from 'pg-tock';
import { crawlPage } from './crawl-page.js';
import { crawlSite } from './crawl-site.js';
import { giveUpPage } from './give-up-page.js';

export const jobs = [crawlSite, crawlPage, giveUpPage];
export const queues = [defineQueue({ name: 'crawl', concurrency: 20, rate: { count: 50, per: '1s' } })];
