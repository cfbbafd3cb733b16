// Room: test support. A strict reader of OpenMetrics text, after the specification 1.0: it refuses what a lenient one takes.
// In: text. Out: families with their samples.

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly unit: string | null;
  readonly samples: readonly Sample[];
}

const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total'],
  gauge: [''],
  histogram: ['_bucket', '_count', '_sum'],
};
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([^\n]*)\})? (\S+)$/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,(?!$)|$)/;

/** @throws with the line that breaks a rule */
export function readOpenMetrics(text: string): Family[] {
  if (!text.endsWith('# EOF\n')) throw new Error('does not end in # EOF and a line feed');
  const families: { name: string; type: string; help: string; unit: string | null; samples: Sample[] }[] = [];
  const seen = new Set<string>();
  for (const line of text.slice(0, -'# EOF\n'.length).split('\n').slice(0, -1)) {
    const fail = (why: string) => new Error(`${why}: ${line}`);
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE|UNIT) (\S+) (.*)$/.exec(line) ?? [];
    if (word !== undefined) {
      let family = families.at(-1);
      if (family?.name !== name) {
        if (families.some(each => each.name === name))
          throw fail('a family is described twice, or not in one piece');
        family = { name, type: '', help: '', unit: null, samples: [] };
        families.push(family);
      }
      if (family.samples.length > 0) throw fail('a description after the samples');
      if (word === 'HELP') family.help = rest;
      if (word === 'TYPE') {
        if (!(rest in SUFFIXES)) throw fail('an unknown type');
        family.type = rest;
      }
      if (word === 'UNIT') {
        if (!name.endsWith(`_${rest}`)) throw fail('the name does not end in the unit');
        family.unit = rest;
      }
      continue;
    }
    const [, sampleName = '', inner, number = ''] = SAMPLE.exec(line) ?? [];
    if (sampleName === '') throw fail('no sample');
    const family = families.at(-1);
    if (!family || !(SUFFIXES[family.type] ?? []).some(suffix => sampleName === `${family.name}${suffix}`))
      throw fail('a sample outside of its family');
    const value = Number(number);
    if (!Number.isFinite(value)) throw fail('no number');
    if (family.type !== 'gauge' && value < 0) throw fail('a counter below zero');
    const sample = { name: sampleName, labels: readLabels(inner ?? '', fail), value };
    const key = JSON.stringify([
      sampleName,
      Object.entries(sample.labels).sort(([a], [b]) => (a < b ? -1 : 1)),
    ]);
    if (seen.has(key)) throw fail('a sample twice');
    seen.add(key);
    family.samples.push(sample);
  }
  for (const family of families) checkHistograms(family);
  return families;
}

function readLabels(text: string, fail: (why: string) => Error): Record<string, string> {
  const labels: Record<string, string> = {};
  for (let rest = text; rest !== ''; ) {
    const [whole, name, value] = LABEL.exec(rest) ?? [];
    if (whole === undefined || name === undefined || value === undefined) throw fail('bad labels');
    if (name in labels) throw fail('a label twice');
    labels[name] = value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
    rest = rest.slice(whole.length);
  }
  return labels;
}

/** Buckets rise to +Inf, which equals the count; bounds are canonical numbers. */
function checkHistograms({ name, type, samples }: Family): void {
  if (type !== 'histogram') return;
  const byLabels = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    byLabels.set(key, [...(byLabels.get(key) ?? []), sample]);
  }
  for (const [labels, each] of byLabels) {
    const buckets = each.filter(sample => sample.name.endsWith('_bucket'));
    const bounds = buckets.map(({ labels: { le = '' } }) => le);
    if (bounds.at(-1) !== '+Inf') throw new Error(`${name}${labels} does not end in +Inf`);
    if (!bounds.slice(0, -1).every(le => /^\d+\.\d+$/.test(le)))
      throw new Error(`${name} has the bounds ${bounds.join()}`);
    const rises = (numbers: readonly number[]) =>
      numbers.every((value, index) => index === 0 || value >= (numbers[index - 1] ?? 0));
    if (!rises(buckets.map(({ value }) => value)) || !rises(bounds.slice(0, -1).map(Number)))
      throw new Error(`${name}${labels} does not rise`);
    const count = each.find(sample => sample.name.endsWith('_count'));
    if (count?.value !== buckets.at(-1)?.value || !each.some(sample => sample.name.endsWith('_sum')))
      throw new Error(`${name}${labels}: count, sum and the last bucket do not fit`);
  }
}

/** The value of one sample; fails if it is not there. */
export function sampleOf(
  families: readonly Family[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const found = families
    .flatMap(({ samples }) => samples)
    .filter(
      sample =>
        sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    );
  if (found.length !== 1) throw new Error(`${found.length} samples ${name}${JSON.stringify(labels)}`);
  return (found[0] as Sample).value;
}
