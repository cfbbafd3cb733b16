// The command of a CronJob's container: program, environment, folder, and what of it cannot be carried over.
import { isObject, listOf, objectOf, textOf, type Values } from '../elsewhere/values.js';

export interface ContainerCommand {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
  readonly differences: readonly string[];
}

/** Settings that are carried over, or mean nothing for a definition. */
const KNOWN = new Set([
  'name',
  'image',
  'imagePullPolicy',
  'command',
  'args',
  'env',
  'envFrom',
  'workingDir',
  'volumeMounts',
  'terminationMessagePath',
  'terminationMessagePolicy',
]);

/** The command, or why there is none and what to do. */
export function containerCommand(
  container: Values,
): ContainerCommand | readonly [problem: string, remedy: string] {
  const differences: string[] = [];
  const image = textOf(container['image']) ?? 'no image';
  const program = listOf(container['command']).map(String);
  if (program.length === 0)
    return [
      `its container has no command: what ${image} starts by itself is not in the manifest`,
      'Write the command of the image (its ENTRYPOINT and CMD) into the manifest, and import it again',
    ];
  const env = environmentOf(container, differences);
  const words = [...program, ...listOf(container['args']).map(String)];
  const command = words.map(word => expanded(word, env));
  const unknown = [...new Set(command.flatMap(word => word.match(/(?<!\$)\$\([A-Za-z_]\w*\)/g) ?? []))];
  if (unknown.length > 0)
    differences.push(
      `${unknown.join(', ')} in its command has no value here; call a shell instead: shell: '… "$NAME"'`,
    );
  differences.unshift(
    `it ran in ${image}: its program and files must be where Tock executes it; to keep the image, write command: ['docker', 'run', '--rm', '${image}', …]`,
  );
  const mounts = listOf(container['volumeMounts']).filter(isObject);
  if (mounts.length > 0)
    differences.push(
      `volumes are not mounted: ${mounts.map(mount => textOf(mount['mountPath']) ?? '?').join(', ')} must be there where Tock executes it`,
    );
  const others = Object.keys(container).filter(key => !KNOWN.has(key));
  if (others.length > 0) differences.push(`not carried over: ${others.join(', ')} of its container`);
  return { command, env, cwd: textOf(container['workingDir']), differences };
}

function environmentOf(container: Values, differences: string[]): Record<string, string> {
  const env: Record<string, string> = {};
  for (const variable of listOf(container['env']).filter(isObject)) {
    const name = textOf(variable['name']) ?? '';
    if (name === '') continue;
    if (variable['valueFrom'] === undefined) env[name] = expanded(textOf(variable['value']) ?? '', env);
    else
      differences.push(
        `${name} came from ${originOf(objectOf(variable['valueFrom']))}: set it in the environment of the process that ticks`,
      );
  }
  for (const each of listOf(container['envFrom']).filter(isObject)) {
    const prefix = textOf(each['prefix']);
    differences.push(
      `all variables of ${originOf(each)}${prefix === null ? '' : `, each after ${prefix},`} were set: set those that it needs in the environment of the process that ticks`,
    );
  }
  return env;
}

/** `the secret shop, key url`. */
function originOf(from: Values): string {
  const kinds: readonly (readonly [key: string, kind: string])[] = [
    ['secretKeyRef', 'secret'],
    ['secretRef', 'secret'],
    ['configMapKeyRef', 'config map'],
    ['configMapRef', 'config map'],
  ];
  for (const [key, kind] of kinds) {
    const reference = from[key];
    if (!isObject(reference)) continue;
    const entry = textOf(reference['key']);
    return `the ${kind} ${textOf(reference['name']) ?? '?'}${entry === null ? '' : `, key ${entry}`}`;
  }
  const field = objectOf(from['fieldRef'])['fieldPath'] ?? objectOf(from['resourceFieldRef'])['resource'];
  return `the pod (${textOf(field) ?? 'valueFrom'})`;
}

/** `$(NAME)` is replaced where the value is known, as Kubernetes does; `$$(NAME)` stands for `$(NAME)`. */
function expanded(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$\$|\$\(([A-Za-z_][\w.-]*)\)/g, (whole, name?: string) => {
    if (name === undefined) return '$';
    return Object.hasOwn(env, name) ? (env[name] ?? '') : whole;
  });
}
