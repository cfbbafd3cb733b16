"""Occurrences of local times on business days, shifted days and every n-th day: an oracle that shares no code with
src/model/schedule. In: a JSON list of cases on stdin. Out: a list of instants for each, in epoch seconds.

Holidays of Germany come from dateutil's Easter; every n-th week, and the n-th weekday of Monday to Friday, from its rrule.
"""
import json
import sys
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

from dateutil.easter import easter
from dateutil.rrule import DAILY, FR, MO, MONTHLY, TH, TU, WE, rrule

ONE = timedelta(days=1)
FARTHEST = 31


def german_holidays(year):
    sunday = easter(year)
    moving = [sunday + timedelta(days=n) for n in (-2, 1, 39, 50)]
    fixed = [date(year, month, day) for month, day in ((1, 1), (5, 1), (10, 3), (12, 25), (12, 26))]
    return moving + fixed


def month_days(day):
    first = day.replace(day=1)
    after = (first + timedelta(days=32)).replace(day=1)
    return [first + timedelta(days=n) for n in range((after - first).days)]


def holidays_of(case):
    given = case.get("holidays", [])
    if given == "de":
        return {day for year in range(2019, 2036) for day in german_holidays(year)}
    return {date.fromisoformat(text) for text in given}


def named_days(case, begin, end, is_open):
    """The days of the rule in [begin, end], before anything moves."""
    days = [begin + timedelta(days=n) for n in range((end - begin).days + 1)]
    if "step" in case:
        start = datetime.fromisoformat(case["anchor"])
        rule = rrule(DAILY, interval=case["step"], dtstart=start, until=datetime.combine(end, time(23, 59)))
        return {at.date() for at in rule if begin <= at.date()}
    if "business" in case and not case.get("holidays") and case["weekend"] == [0, 6]:
        weekdays = (MO, TU, WE, TH, FR)
        start = datetime.combine(month_days(begin)[0], time())
        rule = rrule(MONTHLY, byweekday=weekdays, bysetpos=case["business"], dtstart=start, until=datetime.combine(end, time()))
        return {at.date() for at in rule}
    if "business" in case:
        found = set()
        for first in {day.replace(day=1) for day in days}:
            left = [day for day in month_days(first) if is_open(day)]
            for place in case["business"]:
                index = place - 1 if place > 0 else len(left) + place
                if 0 <= index < len(left):
                    found.add(left[index])
        return found
    if "dates" in case:
        return {day for day in days if day.day in case["dates"]}
    return {day for day in days if day.isoweekday() % 7 in case["weekdays"]}


def shifted(day, direction, is_open):
    """The day itself if it is open; else the next or previous that is; None if none is near, or nothing moves."""
    if is_open(day):
        return day
    if direction is None:
        return None
    step = ONE if direction == "next" else -ONE
    for _ in range(FARTHEST):
        day += step
        if is_open(day):
            return day
    return None


def instants(naive, zone, dst):
    def exists(fold):
        at = naive.replace(tzinfo=zone, fold=fold)
        return at.astimezone(timezone.utc).astimezone(zone).replace(tzinfo=None) == naive

    passes = [naive.replace(tzinfo=zone, fold=fold).timestamp() for fold in ((0, 1) if dst == "literal" else (0,))]
    if dst == "once" or exists(0):
        return passes
    return []


def occurrences(case):
    zone = ZoneInfo(case["zone"])
    begin, end = datetime.fromisoformat(case["from"]), datetime.fromisoformat(case["to"])
    holidays, weekend = holidays_of(case), set(case.get("weekend", []))

    def is_open(day):
        return day not in holidays and day.isoweekday() % 7 not in weekend

    margin = timedelta(days=70)
    days = named_days(case, (begin - margin).date(), (end + margin).date(), is_open)
    moved = {shifted(day, case.get("shift"), is_open) for day in days} - {None}
    found = set()
    for day in moved:
        for text in case["times"]:
            found.update(instants(datetime.combine(day, time.fromisoformat(text)), zone, case.get("dst", "once")))
    return sorted(int(at) for at in found if begin.timestamp() <= at < end.timestamp())


print(json.dumps([occurrences(case) for case in json.load(sys.stdin)]))
