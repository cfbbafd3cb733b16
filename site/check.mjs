// Looks at the built site: `npm run check`. Fails when a link leads nowhere, and when a page in Chromium is wider than its
// window, complains on the console, or has a barrier that axe calls serious; wide and narrow, light and dark.
//   TOCK_SHOTS=folder npm run check     also takes pictures
//   npm run check -- jobs schedules     only these pages
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const dist = path.join(path.dirname(fileURLToPath(import.meta.url)), 'dist');
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const SHOTS = process.env.TOCK_SHOTS;
const PLACES = [
  process.env.TOCK_CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
/** Themes change colours and widths change the layout: each is searched for barriers once. */
const LOOKS = [
  { theme: 'light', width: 1280, height: 900, searchBarriers: true },
  { theme: 'dark', width: 1280, height: 900, searchBarriers: false },
  { theme: 'light', width: 360, height: 740, searchBarriers: false },
  { theme: 'dark', width: 360, height: 740, searchBarriers: true },
];
/** For each step in the browser: CI tries the package beside it, on two cores. */
const LIMIT_MS = 120_000;
/** While one page waits until its requests have ended, others are looked at. */
const AT_ONCE = 3;
/** Pages of the reference are made alike, and so are decisions: these stand for all. */
const MANY = /^(?:api|adr)\//;
const SAMPLES =
  /^(?:adr\/(?:index|0008-.*)|api\/(?:index|pg-tock\/(?:index|functions\/createTock|interfaces\/(?:Tock|JobOptions))))\.html$/;
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.json': 'application/json',
};

if (!existsSync(dist)) fail('there is no dist/: npm run build first');
const pages = (await readdir(dist, { recursive: true }))
  .map(name => name.replaceAll('\\', '/'))
  .filter(name => name.endsWith('.html'))
  .sort();

const dead = await findDeadLinks();
report(`the links of ${pages.length} pages`, dead);
const executablePath = PLACES.find(place => place !== undefined && existsSync(place));
if (executablePath !== undefined) await lookAtPages(executablePath);
else if (process.env.TOCK_CHECK_LACKS === undefined)
  say('not looked at: no chromium in /usr/bin (apt-get install chromium, or set TOCK_CHROMIUM)');
else appendFileSync(process.env.TOCK_CHECK_LACKS, 'chromium\n');

/** Links within the site whose page, file or heading is not there. */
async function findDeadLinks() {
  const read = new Map();
  for (const page of pages) {
    const html = await readFile(path.join(dist, page), 'utf8');
    const all = pattern => [...html.matchAll(pattern)].map(([, value]) => value.replaceAll('&amp;', '&'));
    read.set(page, {
      ids: new Set(all(/\sid="([^"]+)"/g)),
      links: [...all(/<a\b[^>]*?\shref="([^"]+)"/g), ...all(/<img\b[^>]*?\ssrc="([^"]+)"/g)],
    });
  }
  const leadsNowhere = (page, link) => {
    const url = new URL(link, `http://site/${page}`);
    if (url.host !== 'site' || !/^https?:$/.test(url.protocol)) return false;
    const name = decodeURIComponent(url.pathname.slice(1)).replace(/(^|\/)$/, '$1index.html');
    const anchor = decodeURIComponent(url.hash.slice(1));
    const to = read.get(name);
    if (to === undefined) return !existsSync(path.join(dist, name));
    return anchor !== '' && !to.ids.has(anchor);
  };
  return [...read].flatMap(([page, { links }]) =>
    [...new Set(links)].filter(link => leadsNowhere(page, link)).map(link => `${page}: ${link}`),
  );
}

async function lookAtPages(executablePath) {
  const { base, close } = await serve();
  // Chromium refuses its sandbox to root.
  const browser = await chromium.launch({
    executablePath,
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  try {
    const asked = process.argv.slice(2);
    const chosen = pages.filter(page =>
      asked.length > 0 ? asked.includes(page.replace('.html', '')) : !MANY.test(page) || SAMPLES.test(page),
    );
    // One context for each theme, so that the scripts of the site are loaded once and not for each page.
    const contexts = {
      light: await openContext(browser, LOOKS[0]),
      dark: await openContext(browser, LOOKS[1]),
    };
    const left = chosen.values();
    const look = async () => {
      for (const page of left) report(page, await findFlaws(contexts, base, page));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, look));
    for (const { theme, width, height } of LOOKS)
      report(`search, ${theme}, ${width} px`, await search(browser, base, { theme, width, height }));
    report('the menu of a telephone', await openMenu(browser, base));
  } finally {
    await browser.close();
    await close();
  }
}

async function openContext(browser, { theme, width, height }) {
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width, height },
    reducedMotion: 'reduce',
    locale: 'en-GB',
  });
  context.setDefaultTimeout(LIMIT_MS);
  return context;
}

async function openPage(context) {
  const page = await context.newPage();
  const complaints = [];
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', error => complaints.push(String(error)));
  page.on('response', answer => {
    if (answer.status() >= 400) complaints.push(`${answer.status()} ${answer.url()}`);
  });
  return { page, complaints };
}

async function open(browser, look) {
  const context = await openContext(browser, look);
  return { context, ...(await openPage(context)) };
}

async function findFlaws(contexts, base, name) {
  const flaws = [];
  for (const theme of ['light', 'dark']) {
    const looks = LOOKS.filter(look => look.theme === theme);
    const { page, complaints } = await openPage(contexts[theme]);
    await page.goto(`${base}/${name.replace(/index\.html$/, '')}`, { waitUntil: 'networkidle' });
    await drawn(page);
    for (const { width, height, searchBarriers } of looks) {
      await page.setViewportSize({ width, height });
      const look = `${theme}, ${width} px`;
      const pixels = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      if (pixels > 0) flaws.push(`${look}: ${pixels} px wider than its window: ${await widest(page)}`);
      if (searchBarriers) flaws.push(...(await findBarriers(page)).map(text => `${look}: ${text}`));
      await takePicture(page, `${name.replace('.html', '').replaceAll('/', '-')}-${theme}-${width}`);
    }
    flaws.push(...complaints.map(text => `${theme}: ${text}`));
    await page.close();
  }
  return flaws;
}

/** The page's own script listens: before that, a click on what the server has written does nothing. */
async function listening(page) {
  await page.waitForFunction("document.querySelector('#app').__vue_app__ !== undefined");
}

/** Diagrams are drawn a moment after the page. */
async function drawn(page) {
  const texts = page.locator('pre.diagram');
  if ((await texts.count()) > 0) await page.waitForFunction("document.querySelector('pre.diagram') === null");
}

/** The elements that stick out, for the message. */
async function widest(page) {
  return await page.evaluate(() =>
    [...document.querySelectorAll('.vp-doc *')]
      .filter(element => element.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
      .slice(0, 3)
      .map(element => `${element.tagName.toLowerCase()} ${element.textContent.slice(0, 60)}`)
      .join(' | '),
  );
}

/** What axe-core calls serious or critical. */
async function findBarriers(page) {
  await page.evaluate(AXE);
  return await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run({ resultTypes: ['violations'] });
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.length} such as ${nodes[0].html.slice(0, 200)}`);
  });
}

async function search(browser, base, look) {
  const { context, page, complaints } = await open(browser, look);
  try {
    await page.goto(`${base}/index.html`, { waitUntil: 'networkidle' });
    await listening(page);
    await page.locator('.VPNavBarSearch button').first().click();
    await page.locator('.VPLocalSearchBox input').fill('overlap');
    const found = page.locator('.VPLocalSearchBox .result').filter({ hasText: 'Overlap' });
    await found.first().waitFor();
    const flaws = (await findBarriers(page)).map(text => `the results: ${text}`);
    await takePicture(page, `search-${look.theme}-${look.width}`);
    await found.filter({ hasText: 'Schedules' }).first().click();
    await page.waitForURL('**/schedules.html#overlap');
    return [...flaws, ...complaints];
  } catch (error) {
    return [...complaints, String(error)];
  } finally {
    await context.close();
  }
}

async function openMenu(browser, base) {
  const { context, page, complaints } = await open(browser, { theme: 'light', width: 360, height: 740 });
  try {
    await page.goto(`${base}/jobs.html`, { waitUntil: 'networkidle' });
    await listening(page);
    await page.locator('.VPLocalNav .menu').click();
    await takePicture(page, 'menu-light-360');
    await page.locator('.VPSidebar').getByText('Schedules', { exact: true }).click();
    await page.waitForURL('**/schedules.html');
    return complaints;
  } catch (error) {
    return [...complaints, String(error)];
  } finally {
    await context.close();
  }
}

async function takePicture(page, name) {
  if (SHOTS === undefined) return;
  await mkdir(SHOTS, { recursive: true });
  await page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
}

/** As any web server would: files, and index.html of folders. */
async function serve() {
  const answer = async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    const name = path.normalize(decodeURIComponent(pathname)).replace(/[/\\]$/, '/index.html');
    const file = path.join(dist, name);
    const body = file.startsWith(dist) ? await readFile(file).catch(() => null) : null;
    response.writeHead(body === null ? 404 : 200, {
      'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream',
      // As a web server does with files whose names hold their hash.
      ...(pathname.includes('/assets/') ? { 'cache-control': 'max-age=3600' } : {}),
    });
    response.end(body ?? 'not found');
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    base: `http://127.0.0.1:${server.address().port}`,
    close: () => new Promise(resolve => server.close(resolve)),
  };
}

function report(what, flaws) {
  if (flaws.length === 0) return say(`ok      ${what}`);
  process.exitCode = 1;
  say(`FAILED  ${what}`);
  for (const flaw of flaws) say(`          ${flaw}`);
}

function say(text) {
  process.stdout.write(`${text}\n`);
}

function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}
