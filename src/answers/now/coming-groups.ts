// The next occurrences as lines of a list: definitions of one job that are due together are one line.

interface Coming {
  readonly name: string;
  readonly job: string;
  readonly nextAt: Date;
}

/** Definitions of one job whose next occurrences are at one instant. */
export interface ComingGroup<Definition extends Coming = Coming> {
  readonly at: Date;
  readonly first: Definition;
  readonly count: number;
}

/** Groups definitions that are given in the order of their next occurrences; keeps that order. */
export function comingGroups<Definition extends Coming>(
  definitions: readonly Definition[],
  limit: number,
): ComingGroup<Definition>[] {
  const groups = new Map<string, { at: Date; first: Definition; count: number }>();
  for (const definition of definitions) {
    const key = `${definition.nextAt.getTime()} ${definition.job}`;
    const group = groups.get(key);
    if (group) group.count++;
    else groups.set(key, { at: definition.nextAt, first: definition, count: 1 });
  }
  return [...groups.values()].slice(0, limit);
}
