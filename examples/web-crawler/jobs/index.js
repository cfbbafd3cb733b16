// The jobs of this project. Tock reads this module.
import { crawlPage } from './crawl-page.js';
import { crawlSite } from './crawl-site.js';
import { giveUpPage } from './give-up-page.js';

export const jobs = [crawlSite, crawlPage, giveUpPage];
