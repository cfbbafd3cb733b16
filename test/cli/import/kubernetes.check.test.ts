// `tock import kubernetes`: manifests in YAML, and wrong inputs.
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openImportKit, textOf } from './import-kit.js';

const kit = openOnce(openImportKit);

const MANIFEST = `apiVersion: v1
kind: ConfigMap
metadata: { name: settings }
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: backup
  namespace: shop
spec:
  schedule: "30 2 * * *"
  timeZone: Europe/Berlin
  concurrencyPolicy: Forbid
  successfulJobsHistoryLimit: 3
  jobTemplate:
    spec:
      backoffLimit: 2
      activeDeadlineSeconds: 600
      template:
        spec:
          restartPolicy: OnFailure
          containers:
            - name: main
              image: shop:1
              command: [sh, -c]
              args:
                - |
                  echo "$GREETING"
                  exit 0
              env:
                - { name: GREETING, value: it's me }
`;
const LIST = `apiVersion: v1
kind: List
items:
  - kind: CronJob
    metadata: { name: cleaner }
    spec:
      schedule: '*/5 * * * *'
      suspend: true
      jobTemplate: { spec: { template: { spec: { containers: [{ name: a, image: b, command: [clean] }] } } } }
  - kind: CronJob
    metadata: { name: two }
    spec:
      schedule: '@daily'
      jobTemplate: { spec: { template: { spec: { containers: [{ name: a }, { name: b }] } } } }
`;

describe('tock import kubernetes', () => {
  it('prints code on standard output, and the report on standard error', async () => {
    const file = await kit.write('backup.yaml', MANIFEST);
    const { code, stdout, stderr } = await kit.tock(['import', 'kubernetes', file]);
    expect(code).toBe(0);
    expect(stdout).toContain(`// CronJob shop/backup: 30 2 * * *
// Note: it ran in shop:1`);
    expect(stdout).toContain(`export const backup = defineShellJob({
  name: 'backup',
  schedule: { cron: '30 2 * * *', timezone: 'Europe/Berlin', dst: 'literal', overlap: 'buffer_one' },
  command: ['sh', '-c', 'echo "$GREETING"\\nexit 0\\n'],
  env: { GREETING: "it's me" },
  timeout: '10m',
  retry: { maxAttempts: 3, base: '10s', max: '6m', jitter: 0 },
});`);
    expect(stderr).toContain('  CronJob shop/backup: taken, with a difference: backup\n');
    expect(stderr).toContain('1 taken, 1 of them with a difference; 0 not taken\n');
    expect(stderr).toContain(
      `kubectl patch cronjob backup --namespace shop --patch '{"spec":{"suspend":true}}'`,
    );
  });

  it('writes definitions that run the command', async () => {
    const file = await kit.write('backup.yaml', MANIFEST);
    const out = path.join(kit.folder, 'cron-jobs.ts');
    const result = await kit.tock(['import', 'kubernetes', file, '--out', out]);
    expect(result.stdout).toBe(`wrote ${out}\n`);
    await kit.build(await textOf(out));
    const [job] = await kit.jobs();
    expect(job).toMatchObject({ name: 'backup', timeout: '10m', schedule: { overlap: 'buffer_one' } });
    await kit.write('cron-jobs.ts', 'mine');
    const again = await kit.tock(['import', 'kubernetes', file, '--out', out]);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain(`this would overwrite ${out}: repeat it with --yes`);
    expect(await textOf(out)).toBe('mine');
  });

  it('reads standard input, lists, and folders of manifests', async () => {
    const { stdout, stderr } = await kit.tock(['import', 'kubernetes', '-', '--json'], { input: LIST });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({
      taken: [{ from: 'CronJob cleaner', name: 'cleaner', schedule: {} }],
      left: [{ from: 'CronJob two', problem: 'its pod has several containers: a, b' }],
    });
    await kit.write('deploy/a.yaml', MANIFEST);
    await kit.write('deploy/b.yml', LIST);
    await kit.write('deploy/notes.txt', 'kind: CronJob');
    const folder = await kit.tock(['import', 'kubernetes', path.join(kit.folder, 'deploy')]);
    expect(folder.stderr).not.toContain('kubectl patch cronjob cleaner');
    expect(folder.stderr).toContain('2 taken, 2 of them with a difference; 1 not taken');
  });

  it('says in one line what is wrong', async () => {
    const other = await kit.write('other.yaml', 'kind: Service\n---\nkind: Deployment\n');
    const chart = await kit.write('chart.yaml', 'kind: CronJob\nmetadata: {{ .Values.name }}\n');
    const broken = await kit.write('broken.yaml', 'a: [1\nb: 2\n');
    const empty = await kit.write('empty.yaml', '');
    await kit.write('nothing/a.txt', '');
    const cases: readonly (readonly [args: readonly string[], code: number, message: RegExp])[] = [
      [[], 2, /name a manifest, a folder of them, or - for standard input: kubectl get cronjobs/],
      [['/no/such'], 1, /there is no file \/no\/such/],
      [[other], 1, /other\.yaml has no CronJob, only Service, Deployment: name manifests/],
      [[empty], 1, /empty\.yaml has no CronJob: name/],
      [[chart], 2, /chart\.yaml is a template: render it first \(helm template\)/],
      [[broken], 2, /broken\.yaml is not YAML: /],
      [[path.join(kit.folder, 'nothing')], 1, /holds no file that ends with \.yaml/],
      [[other, '--timezone', 'Europe/Berln'], 2, /Europe\/Berln.* did you mean/],
      [[other, '--days', '3'], 2, /belong to --dry-run/],
      [[other, '--dry-run', '--out', 'x'], 2, /--out and --report belong/],
      [[other, '--switch'], 2, /unknown option '--switch'/],
    ];
    for (const [args, code, message] of cases) {
      const result = await kit.tock(['import', 'kubernetes', ...args]);
      expect(result.stderr, args.join(' ')).toMatch(message);
      expect(result.code, args.join(' ')).toBe(code);
      expect(result.stdout).toBe('');
    }
  });
});
