// Takes pictures of some moments of a recording, to look at it: PNG files, by Chromium.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { chromium } from 'playwright-core';

const MOMENTS = [0.05, 0.2, 0.35, 0.5, 0.65, 0.8];

/** `end.png` is the still one, at the width of a README. */
export async function takeFrames(svg, { folder, lengthMs, still }) {
  await mkdir(folder, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.TOCK_CHROMIUM ?? '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 840, height: 760 } });
    await page.setContent(`<body style="margin:16px">${svg}</body>`);
    for (const moment of MOMENTS) {
      await page.evaluate(time => {
        for (const animation of document.getAnimations()) {
          animation.pause();
          animation.currentTime = time;
        }
      }, moment * lengthMs);
      await page.screenshot({ path: path.join(folder, `${Math.round(moment * 100)}.png`) });
    }
    const address = `data:image/svg+xml;base64,${Buffer.from(still).toString('base64')}`;
    await page.setContent(`<body style="margin:16px"><img width="800" src="${address}"></body>`);
    await page.waitForFunction(() => document.images[0]?.complete);
    await page.screenshot({ path: path.join(folder, 'end.png') });
  } finally {
    await browser.close();
  }
}
