// What a Tock does with calendars.
import type { Engine } from '../../engine/engine.js';
import * as calendars from '../../engine/operate/calendars.js';
import type { CalendarMethods } from '../../model/calendar/calendar.js';
import type { Action } from '../../model/operator.js';
import { required } from '../check-options.js';

/** @param may the engine that acts for the operator, whose role suffices */
export function calendarMethods(open: () => Engine, may: (action: Action) => Engine): CalendarMethods {
  return {
    list: async () => await calendars.calendars(open()),
    get: async name => await calendars.calendar(open(), name),
    set: async (name, options) => {
      const given = required('calendars.set', options);
      return await calendars.setCalendar(given.dryRun === true ? open() : may('calendars.set'), name, given);
    },
    remove: async name => {
      await calendars.removeCalendar(may('calendars.remove'), name);
    },
  };
}
