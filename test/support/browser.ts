// Room: test support. A real browser, Debian's chromium, for tests of the dashboard's pages.
// In: nothing. Out: pages in either theme and any width; what axe finds; what the browser complains of.
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { lacks, programPath } from './needs.js';

/** The browser's own bound of half a minute is for a machine that does nothing else. */
const WITHIN_MS = 120_000;

const browserPath = () =>
  process.env['TOCK_CHROMIUM'] ??
  ['chromium', 'chromium-browser', 'google-chrome'].map(programPath).find(found => found !== null);

/** For `describe.skipIf`. */
export const hasNoBrowser = () => process.env['TOCK_CHROMIUM'] === undefined && lacks('chromium');

export async function openBrowser(): Promise<Browser> {
  // Chromium refuses its sandbox to root, which tests often are.
  return await chromium.launch({
    executablePath: browserPath() ?? '',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    timeout: WITHIN_MS,
  });
}

export interface Look {
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  readonly javaScript?: boolean;
  readonly zone?: string;
}

export interface Watched {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the browser complained of: blocked by the policy, not found, thrown. */
  readonly complaints: readonly string[];
  readonly close: () => Promise<void>;
}

/** A window of its own: cookies, theme, width. */
export async function openPage(browser: Browser, look: Look = {}): Promise<Watched> {
  const { theme = 'light', width = 1280, height = 900, javaScript = true, zone = 'Europe/Berlin' } = look;
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width, height },
    javaScriptEnabled: javaScript,
    timezoneId: zone,
    locale: 'en-GB',
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(WITHIN_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', error => complaints.push(String(error)));
  return { page, context, complaints, close: () => context.close() };
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** What axe-core finds wrong with a page, by rule, with the first element of each. */
export async function findBarriers(page: Page): Promise<string[]> {
  // Evaluated by the debugger, which the page's policy does not concern.
  const { readFile } = await import('node:fs/promises');
  await page.evaluate(await readFile(AXE, 'utf8'));
  return await page.evaluate(async () => {
    interface Axe {
      run(options: object): Promise<{
        violations: { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }[];
      }>;
    }
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations } = await axe.run({ resultTypes: ['violations'] });
    return violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes.length} such as ${nodes[0]?.html} (${nodes[0]?.failureSummary ?? ''})`,
    );
  });
}

/** By how many pixels a page is wider than its window: nothing should have to be scrolled sideways. */
export async function overflow(page: Page): Promise<number> {
  return await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
