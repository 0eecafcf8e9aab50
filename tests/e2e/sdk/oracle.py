"""Validates stored events with the SDK's own models."""

from openhands.sdk import Event
from openhands.tools.preset.default import get_default_tools


def refused(stage, events):
    """Events that the SDK would refuse, each with the reason."""
    get_default_tools(enable_browser=False)
    problems = []
    for event in events:
        try:
            read = Event.model_validate(event)
        except ValueError as problem:
            problems.append([event["kind"], str(problem)])
            continue
        if read.id != event["id"] or read.timestamp != event["timestamp"] or read.source != event["source"]:
            problems.append([event["kind"], "the model fills in what should be there"])
    return problems
