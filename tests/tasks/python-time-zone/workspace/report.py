"""Daily report of events: how many on each local day, and the hours between the first and the last one."""

import datetime
import time

DAY_S = 24 * 3600


def local_day(stamp):
    """The local day, as YYYY-MM-DD, of seconds since 1970 (UTC)."""
    offset_s = -time.timezone
    return datetime.datetime.fromtimestamp(stamp + offset_s, datetime.timezone.utc).strftime("%Y-%m-%d")


def days_between(first, last):
    """All local days from that of the first stamp to that of the last one."""
    days = []
    stamp = first
    while stamp <= last:
        days.append(local_day(stamp))
        stamp += DAY_S
    return days


def parse_local(text):
    """Seconds since 1970 (UTC) of a local time, as YYYY-MM-DD HH:MM."""
    moment = datetime.datetime.strptime(text, "%Y-%m-%d %H:%M")
    return int(moment.replace(tzinfo=datetime.timezone.utc).timestamp()) + time.timezone


def report(texts):
    """The report on events, given as local times in order: {"days": {day: events}, "hours": hours from first to last}."""
    stamps = [parse_local(text) for text in texts]
    days = {day: 0 for day in days_between(stamps[0], stamps[-1])}
    for stamp in stamps:
        days[local_day(stamp)] += 1
    return {"days": days, "hours": (stamps[-1] - stamps[0]) / 3600}
