// Identifiers for names of definitions.

const RESERVED = new Set(
  'arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield defineShellJob defineJob importedJobs Dead'.split(
    ' ',
  ),
);

/** `artisan-schedule-run` is `artisanScheduleRun`. @param taken identifiers that it must not be */
export function toCamelCase(name: string, taken: ReadonlySet<string>): string {
  const camel = name
    .replace(/[^A-Za-z0-9]+([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    .replace(/[^A-Za-z0-9]/g, '');
  const plain = /^[A-Za-z]/.test(camel) ? camel : `job${camel}`;
  const first = RESERVED.has(plain) ? `${plain}Job` : plain;
  let unique = first;
  for (let count = 2; taken.has(unique); count++) unique = `${first}${count}`;
  return unique;
}
