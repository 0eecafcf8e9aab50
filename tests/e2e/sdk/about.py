"""The SDK itself."""

from importlib.metadata import version


def versions(stage):
    import openhands.sdk  # noqa: F401 # the slow part of a start

    return {name: version(name) for name in ("openhands-sdk", "openhands-tools", "openhands-workspace")}
