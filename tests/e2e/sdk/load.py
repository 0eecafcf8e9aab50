"""Loads the SDK after its installation: Python keeps the compiled modules, and the programs of the tests start soon."""

import importlib
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["OPENHANDS_SUPPRESS_BANNER"] = "1"
sys.dont_write_bytecode = False

for module in ("openhands.sdk", "openhands.tools.preset.default", "openhands.workspace"):
    importlib.import_module(module)
