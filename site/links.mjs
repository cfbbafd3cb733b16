// How a document of the repository becomes a page: its links, its pictures, the marks of its code blocks.
import path from 'node:path';

const PICTURE =
  /<picture>\s*<source media="[^"]*dark[^"]*" srcset="([^"]+)">\s*<img alt="([^"]*)" src="([^"]+)">\s*<\/picture>/g;
/** A picture that moves, and one for those who want nothing to move. */
const STILL =
  /(<picture>\s*<source media="\(prefers-reduced-motion: reduce\)" srcset=")([^"]+)(">\s*<img [^>]*?src=")([^"]+)(">\s*<\/picture>)/g;
/** Code, which stays as it is; or a link or an image. */
const LINK = /(`(?:[^`\n]|\n(?!\n))*`)|(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g;

/**
 * @param {string} text
 * @param {{ from: string, toPage: (file: string) => string | null, toFile: (file: string) => string | null,
 *   toRepository: (file: string) => string | null }} site how a path from the root is reached; null: not at all
 */
export function toPage(text, { from, toPage, toFile, toRepository }) {
  const resolve = target => path.posix.normalize(path.posix.join(path.posix.dirname(from), target));
  const fileOf = target => toFile(resolve(target)) ?? target;
  const link = (whole, code, bang, label, target) => {
    if (code !== undefined || /^(?:[a-z]+:|#)/i.test(target)) return whole;
    const [file = '', anchor] = target.split('#');
    const at = resolve(file);
    const page = toPage(at);
    if (page !== null) return `[${label}](${page}${anchor === undefined ? '' : `#${anchor}`})`;
    const address = toFile(at) ?? toRepository(at);
    return address === null ? label : `${bang}[${label}](${address})`;
  };
  return text
    .split(/(^[ \t]*```[\s\S]*?^[ \t]*```[ \t]*$)/m)
    .map((part, index) =>
      index % 2 === 1
        ? plainFence(part)
        : part
            .replaceAll(PICTURE, (_whole, dark, alt, light) => bothLooks(alt, fileOf(light), fileOf(dark)))
            .replaceAll(
              STILL,
              (_whole, begin, still, middle, moving, end) =>
                `${begin}${fileOf(still)}${middle}${fileOf(moving)}${end}`,
            )
            .replaceAll(LINK, link),
    )
    .join('');
}

/** `ts test` is a mark for tests; there is no grammar for crontabs. */
function plainFence(fence) {
  return fence.replace(/^([ \t]*```)(\w+)[^\n]*/, (_whole, ticks, language) =>
    ticks.concat(language === 'crontab' ? 'sh' : language),
  );
}

/** The site has a switch for its look, which `prefers-color-scheme` does not follow. */
function bothLooks(alt, light, dark) {
  return `<img class="in-light" alt="${alt}" src="${light}"><img class="in-dark" alt="${alt}" src="${dark}">`;
}

/** As GitHub makes them, so that a link works there and here. */
export function slugify(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}
