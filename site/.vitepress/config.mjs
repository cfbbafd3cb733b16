// The site: what vitepress is told. The pages are those that assemble.mjs and typedoc have written to pages/.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'vitepress';
import { slugify } from '../links.mjs';

const read = name => JSON.parse(readFileSync(new URL(`../pages/${name}`, import.meta.url), 'utf8'));
const { version, description } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);
const groups = read('navigation.json');
const api = read('api.json');

const pagesOf = name => groups.find(({ text }) => text === name).items;

export default defineConfig({
  title: 'Tock',
  description,
  lang: 'en',
  base: process.env.TOCK_SITE_BASE ?? '/',
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: 'node_modules/.vitepress',
  ignoreDeadLinks: false,
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `${process.env.TOCK_SITE_BASE ?? '/'}icon.svg` }],
  ],
  markdown: {
    anchor: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    image: { lazyLoading: true },
    config(md) {
      const fence = md.renderer.rules.fence;
      md.renderer.rules.fence = (tokens, index, ...rest) =>
        tokens[index].info.trim() === 'mermaid'
          ? `<MermaidDiagram code="${encodeURIComponent(tokens[index].content)}" />`
          : fence(tokens, index, ...rest);
    },
  },
  themeConfig: {
    logo: '/icon.svg',
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        // Documents before the reference, which repeats each word many times.
        miniSearch: { searchOptions: { boostDocument: id => (id.includes('/api/') ? 0.3 : 1) } },
      },
    },
    nav: [
      { text: 'Guide', link: '/getting-started', activeMatch: '^/(getting-started|overview|jobs|schedules)' },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { text: 'Coming from', activeMatch: '^/coming-from/', items: pagesOf('Coming from') },
      {
        text: version,
        items: [...pagesOf('Performance'), ...pagesOf('Project'), { text: 'Decisions', link: '/adr/' }],
      },
    ],
    sidebar: { '/': [...groups, { text: 'API', link: '/api/' }], '/api/': apiSidebar() },
    footer: { message: 'MIT licence' },
    notFound: { linkText: 'To the first page', linkLabel: 'To the first page' },
  },
});

/** A group for each module, and in it one for each kind. */
function apiSidebar() {
  const modules = api
    .filter(({ folder, pages }) => folder !== '.' && pages.some(({ name }) => name.endsWith('/index.md')))
    .sort((one, other) => one.folder.localeCompare(other.folder));
  const kindsOf = module =>
    api.filter(({ folder }) => path.posix.dirname(folder) === module && !isModule(folder));
  const isModule = folder => modules.some(module => module.folder === folder);
  return [
    { text: 'All modules', link: '/api/' },
    ...modules.map(({ folder }) => ({
      text: folder,
      link: `/api/${folder}/`,
      items: kindsOf(folder).map(kind => ({
        text: capital(path.posix.basename(kind.folder).replaceAll('-', ' ')),
        collapsed: true,
        link: `/api/${folder}/#${path.posix.basename(kind.folder)}`,
        items: kind.pages.map(({ name, title }) => ({
          text: title.replace(/^.*?: /, '').replace(/\\?<.*/, ''),
          link: `/api/${name.replace('.md', '')}`,
        })),
      })),
    })),
    { text: 'Guide', link: '/getting-started' },
  ];
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
