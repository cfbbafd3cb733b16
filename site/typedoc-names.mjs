// For typedoc: names the modules as users import them, instead of by their files.
import { Converter, ReflectionKind } from 'typedoc';

const NAMES = {
  index: 'pg-tock',
  adapters: 'pg-tock/adapters',
  dashboard: 'pg-tock/dashboard',
  http: 'pg-tock/http',
  testing: 'pg-tock/testing',
};

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, context => {
    for (const module of context.project.getReflectionsByKind(ReflectionKind.Module))
      module.name = NAMES[module.name] ?? module.name;
  });
}
