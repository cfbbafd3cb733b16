// Gathers the pages: the documents of the repository, with links that work on the site. Writes pages/, which is not kept.
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { toPage } from './links.mjs';

/** Documents outside docs/, and the pages that they become. */
const OTHERS = {
  'README.md': 'overview.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'bench/README.md': 'benchmarks.md',
  'examples/README.md': 'examples.md',
};
/** Files that a page links to, served as they are. */
const FILES = {
  'crontab.example': 'files/crontab.txt',
  'metrics/tock.rules.yml': 'files/tock.rules.yml',
  'metrics/grafana-dashboard.json': 'files/grafana-dashboard.json',
};
/** The order of the pages. A page that is in no group is put at the end of the guide. */
const GROUPS = [
  [
    'Guide',
    [
      'getting-started',
      'overview',
      'examples',
      'jobs',
      'waiting',
      'batches',
      'fairness',
      'schedules',
      'plan',
      'operations',
      'commands',
      'upgrades',
      'database',
      'retention',
      'monitoring',
      'deployment',
      'serverless',
      'http-jobs',
      'changes',
      'hand-off',
      'sql-workers',
      'relay',
      'relay-recipes',
      'fail-over',
      'dashboard',
      'operators',
      'agents',
      'alerts',
      'metrics',
      'tracing',
      'testing',
      'doctor',
    ],
  ],
  [
    'Coming from',
    [
      'coming-from/index',
      'coming-from/pg-boss',
      'coming-from/graphile-worker',
      'coming-from/bullmq',
      'coming-from/river',
      'coming-from/agenda',
      'coming-from/node-cron',
      'coming-from/cron',
      'coming-from/pg_cron',
      'coming-from/kubernetes',
      'import',
      'coming-from/*',
    ],
  ],
  ['Reference', ['terms', 'guarantees', 'state-machine', 'data-model', 'bad-inputs', 'architecture']],
  ['Performance', ['performance', 'laboratory', 'claims', 'benchmarks']],
  ['Project', ['changelog', 'contributing']],
  ['Decisions', ['adr/index', 'adr/*']],
];
const FOLDED = ['Project', 'Decisions'];
/** What the sidebar calls a page, where its own title would say too little there, or too much. */
const SHORT = { overview: 'Overview', import: 'Import of a crontab', 'adr/index': 'All decisions' };
const shortTitle = (name, title) => SHORT[name] ?? title.replace(/^Coming from /, '');

/** @param {{ root: string, site: string }} folders */
export async function assemble({ root, site }) {
  const out = path.join(site, 'pages');
  await rm(out, { recursive: true, force: true });
  const documents = await findDocuments(root);
  const titles = new Map();
  const web = await repositoryAddress(root);
  for (const [from, to] of documents) {
    const text = toPage(await readFile(path.join(root, from), 'utf8'), {
      from,
      toPage: file => addressOf(documents, file),
      toFile: file => fileAddress(file),
      toRepository: file => (web === null ? null : `${web}/${file}`),
    });
    titles.set(to.replace(/\.md$/, ''), /^# (.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? to);
    await mkdir(path.dirname(path.join(out, to)), { recursive: true });
    await writeFile(path.join(out, to), text);
  }
  await cp(path.join(site, 'home.md'), path.join(out, 'index.md'));
  for (const folder of ['pictures', 'charts'])
    await cp(path.join(root, 'docs', folder), path.join(out, 'public', folder), { recursive: true });
  for (const [from, to] of Object.entries(FILES))
    await cp(path.join(root, from), path.join(out, 'public', to), { recursive: true });
  await cp(path.join(root, 'src/dashboard/assets/icon.svg'), path.join(out, 'public', 'icon.svg'));
  await writeFile(path.join(site, 'pages', 'navigation.json'), JSON.stringify(groupPages(titles)));
}

async function findDocuments(root) {
  const docs = await readdir(path.join(root, 'docs'), { recursive: true });
  return new Map([
    ...Object.entries(OTHERS),
    ...docs
      .map(name => name.replaceAll('\\', '/'))
      .filter(name => name.endsWith('.md'))
      .sort()
      .map(name => [`docs/${name}`, name.replace(/README\.md$/, 'index.md')]),
  ]);
}

/** The page of a document, or of a folder with a README. */
function addressOf(documents, file) {
  const page = documents.get(file) ?? documents.get(path.posix.join(file, 'README.md'));
  return page === undefined ? null : `/${page}`;
}

function fileAddress(file) {
  if (Object.hasOwn(FILES, file)) return `/${FILES[file]}`;
  return /^docs\/(?:pictures|charts)\/./.test(file) ? file.replace('docs', '') : null;
}

/** Where the rest of the repository can be read; null: package.json does not say. */
async function repositoryAddress(root) {
  const { repository } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  const url = (typeof repository === 'string' ? repository : repository?.url) ?? '';
  const [, place] = /github(?:\.com[/:]|:)([\w.-]+\/[\w.-]+?)(?:\.git)?$/.exec(url) ?? [];
  return place === undefined ? null : `https://github.com/${place}/blob/HEAD`;
}

/** What vitepress takes as its sidebar, without the API. */
function groupPages(titles) {
  const left = new Set(titles.keys());
  const take = names => {
    for (const name of names) left.delete(name);
    return names;
  };
  const groups = GROUPS.map(([text, names]) => [
    text,
    names
      .flatMap(name =>
        take(name.endsWith('/*') ? [...left].filter(each => each.startsWith(name.slice(0, -1))) : [name]),
      )
      .filter(name => titles.has(name)),
  ]);
  groups[0][1].push(...left);
  return groups.map(([text, names]) => {
    const items = names.map(name => ({
      text: shortTitle(name, titles.get(name)),
      link: `/${name.replace(/index$/, '')}`,
    }));
    // A group that folds leads somewhere: as a mere button it would hold another button, its arrow.
    return FOLDED.includes(text) ? { text, collapsed: true, link: items[0].link, items } : { text, items };
  });
}
