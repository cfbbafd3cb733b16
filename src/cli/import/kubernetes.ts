// `tock import kubernetes`: definitions from CronJobs in manifests.
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import type { Document } from 'yaml';
import { apart, type Found } from '../../import/elsewhere/taken.js';
import { kubernetesNotes, translateCronJob } from '../../import/kubernetes/cron-job.js';
import { type CronJobManifest, cronJobsIn } from '../../import/kubernetes/manifest.js';
import { TockError } from '../../model/errors.js';
import { checkZoneName } from '../../model/schedule/zone/zone-names.js';
import { examples, withJson } from '../flags/flags.js';
import { action, type Shell } from '../shell.js';
import { checkFoundFlags, type FoundFlags, finishImport } from './finish-import.js';
import { withFoundFlags } from './found-flags.js';
import { readText } from './import-files.js';

interface KubernetesFlags extends FoundFlags {
  readonly timezone?: string;
}

const FROM_CLUSTER = 'kubectl get cronjobs --all-namespaces --output yaml | tock import kubernetes -';

export function addKubernetes(command: Command): Command {
  return withFoundFlags(withJson(command.command('kubernetes')))
    .summary('definitions from CronJobs of Kubernetes')
    .description(
      'Reads CronJobs from manifests, in YAML or JSON, and writes a shell job for each, in TypeScript to be reviewed, with a report of what differs. Changes nothing in the cluster: the report has the commands that suspend the CronJobs. Needs neither a cluster nor a database.',
    )
    .argument('[path]', 'a manifest, a folder of them, or - for standard input')
    .option('--timezone <zone>', 'the zone of kube-controller-manager, for CronJobs without timeZone', 'UTC')
    .addHelpText(
      'after',
      examples(
        [FROM_CLUSTER, 'what the cluster runs'],
        ['tock import kubernetes deploy/ --out jobs/cron-jobs.ts', 'write definitions'],
        ['tock import kubernetes deploy/ --dry-run --days 366', 'compare the times'],
      ),
    )
    .action(action(importKubernetes));
}

async function importKubernetes(
  shell: Shell,
  flags: KubernetesFlags,
  file: string | undefined,
): Promise<number> {
  checkFoundFlags(flags);
  const zone = flags.timezone ?? 'UTC';
  checkZoneName(zone);
  if (file === undefined)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `name a manifest, a folder of them, or - for standard input: ${FROM_CLUSTER}`,
    );
  const texts = await readTexts(file);
  const source = file === '-' ? 'standard input' : file;
  const cronJobs = await readCronJobs(texts, source);
  const names = new Set<string>();
  const results = cronJobs.map(manifest => translateCronJob(manifest, zone, names));
  const running = cronJobs.filter(
    ({ spec }, index) => 'job' in (results[index] ?? {}) && spec['suspend'] !== true,
  );
  const found: Found = { source, ...apart(results), notes: kubernetesNotes(zone, running), head: {} };
  return await finishImport(shell, flags, { command: 'kubernetes', system: 'Kubernetes' }, found);
}

interface Text {
  readonly name: string;
  readonly text: string;
}

async function readTexts(file: string): Promise<Text[]> {
  if (file === '-') {
    const chunks: Buffer[] = [];
    for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
    return [{ name: 'standard input', text: Buffer.concat(chunks).toString('utf8') }];
  }
  const found = await stat(file).catch(() => null);
  if (found === null) throw new TockError('TOCK_NOT_FOUND', `there is no file ${file}`);
  if (!found.isDirectory()) return [{ name: file, text: await readText(file) }];
  const names = (await readdir(file)).filter(name => /\.(?:ya?ml|json)$/i.test(name)).sort();
  if (names.length === 0)
    throw new TockError('TOCK_NOT_FOUND', `${file} holds no file that ends with .yaml, .yml or .json`);
  const files = names.map(name => path.join(file, name));
  return await Promise.all(files.map(async name => ({ name, text: await readText(name) })));
}

/** Braces of a template where a value or a line begins; within quotes they are data. */
const TEMPLATE = /^\s*(?:-\s+|[\w./-]+:\s+)*\{\{/m;

async function readCronJobs(texts: readonly Text[], source: string): Promise<CronJobManifest[]> {
  // Loaded by this command only.
  const { default: yaml } = await import('yaml');
  const cronJobs: CronJobManifest[] = [];
  const others = new Set<string>();
  for (const { name, text } of texts) {
    if (TEMPLATE.test(text))
      throw new TockError('TOCK_BAD_OPTION', `${name} is a template: render it first (helm template)`);
    for (const document of yaml.parseAllDocuments(text, { logLevel: 'error' })) {
      const [error] = document.errors;
      if (error !== undefined) throw noYaml(name, error);
      const read = cronJobsIn(valueOf(document, name));
      cronJobs.push(...read.cronJobs);
      for (const kind of read.others) others.add(kind);
    }
  }
  if (cronJobs.length > 0) return cronJobs;
  const holds = others.size === 0 ? '' : `, only ${[...others].slice(0, 5).join(', ')}`;
  throw new TockError(
    'TOCK_NOT_FOUND',
    `${source} has no CronJob${holds}: name manifests with kind: CronJob, or ask the cluster: ${FROM_CLUSTER}`,
  );
}

function valueOf(document: Document, name: string): unknown {
  try {
    // Without a limit, a small text with aliases may stand for gigabytes.
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw noYaml(name, error instanceof Error ? error : new Error(String(error)));
  }
}

function noYaml(name: string, { message }: Error): TockError {
  return new TockError('TOCK_BAD_OPTION', `${name} is not YAML: ${message.split('\n')[0] ?? ''}`);
}
