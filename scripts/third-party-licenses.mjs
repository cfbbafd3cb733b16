// The licences of what dist/ bundles, from esbuild's metafile: each package with its version and the text of its
// licence. The build fails where a text is missing, or a licence is not one of those we may ship.
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

// MIT-0 and 0BSD ask for less than MIT and BSD do.
const ALLOWED = new Set(['MIT', 'MIT-0', 'Apache-2.0', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD']);

/** Names that packages use, and what SPDX calls the same licence. */
const SPDX = { 'BSD-0-Clause': '0BSD' };

/** The folders of the packages of which something is bundled. */
export function bundledPackages(metafile) {
  const folders = Object.keys(metafile.inputs).map(file => PACKAGE_FOLDER.exec(file)?.[0]);
  return [...new Set(folders.filter(folder => folder !== undefined))].sort();
}

const PACKAGE_FOLDER = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;

/** Everything that a package asks to be passed on: its licence, and notices where there are any. */
export async function readLicense(folder) {
  const manifest = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
  const { name, version } = manifest;
  const license = SPDX[manifest.license] ?? manifest.license;
  if (!ALLOWED.has(license))
    throw new Error(
      `${name} ${version} is bundled, and its licence ${license} is not one of ${[...ALLOWED].join(', ')}`,
    );
  const files = (await readdir(folder)).filter(file => /^(?:licen[cs]e|copying|notice)/i.test(file)).sort();
  const texts = await Promise.all(files.map(file => readFile(path.join(folder, file), 'utf8')));
  if (!files.some(file => !/^notice/i.test(file))) texts.push(await sectionOfReadme(folder));
  const text = texts.map(each => each.replaceAll('\r\n', '\n').trim()).join('\n\n');
  // What every licence above says in some words.
  if (!/permission|redistribution|licensed/i.test(text))
    throw new Error(`${name} ${version} is bundled, and the text of its licence is nowhere in ${folder}`);
  return { name, version, license, text };
}

/** A few packages have their licence in the README only. */
async function sectionOfReadme(folder) {
  const file = (await readdir(folder)).find(each => /^readme/i.test(each));
  const readme = file === undefined ? '' : await readFile(path.join(folder, file), 'utf8');
  return /^#+ *licen[cs]e *\n([\s\S]*?)(?=^#|(?![\s\S]))/im.exec(readme)?.[1] ?? '';
}

/** The file that goes with the bundles. `copied`: folders of packages that are not bundled, but copied. */
export async function thirdPartyLicenses(metafile, copied = []) {
  const packages = await Promise.all([...bundledPackages(metafile), ...copied].map(readLicense));
  const rule = '-'.repeat(80);
  const entries = packages.map(
    ({ name, version, license, text }) => `${rule}\n${name} ${version} (${license})\n${rule}\n\n${text}\n`,
  );
  return `The files in this folder contain parts of these packages, in these versions, under these licences.\n\n${entries.join('\n')}`;
}
