"""Plays the scenarios that the test names, one after the other, until the test disconnects."""

import importlib
import logging
import os
import traceback

from stage import Stage, Test, Warnings


def play(stage, request):
    module, _, function = request["play"].partition(".")
    return getattr(importlib.import_module(module), function)(stage, **request["arguments"])


def main():
    test = Test()
    stage = Stage(test, os.environ["SDK_HOST"], os.environ["SDK_KEY"], os.environ["SDK_MODEL_URL"])
    warnings = Warnings()
    logging.captureWarnings(True)
    logging.getLogger().addHandler(warnings)
    while request := test.hear():
        try:
            outcome = {"result": play(stage, request)}
        except Exception:
            outcome = {"failure": traceback.format_exc()}
        test.tell({**outcome, "warnings": warnings.take()})


main()
