"""The base of the scenarios: the server under test, and the test that controls them.

The test and its scenarios speak over pipes, a JSON document per line:
  test     {"play": "module.function", "arguments": {...}}
  scenario {"ask": word, "value": ...}      wants something done before it goes on
  test     {"done": ...}
  scenario {"result": ..., "warnings": [...]} or {"failure": traceback, "warnings": [...]}
"""

import json
import logging
import os
import sys
import threading

WORKING_DIR = "/workspace/project"


class Warnings(logging.Handler):
    """The SDK's warnings; a user would see them in the terminal."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        if record.name.startswith(("openhands", "py.warnings")):
            self.texts.append(f"{record.name}: {record.getMessage()}")

    def take(self):
        texts, self.texts = self.texts, []
        return texts


class Test:
    """The other end of the pipes. Other output must not go to standard output, so it is redirected to standard error."""

    def __init__(self):
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def tell(self, message):
        self._out.write(json.dumps(message, default=str) + "\n")
        self._out.flush()

    def hear(self):
        """The next message, or None when the test has disconnected."""
        line = sys.stdin.readline()
        return json.loads(line) if line else None

    def ask(self, word, value=None):
        """Asks the test to do something, and waits until it is done."""
        with self._lock:
            self.tell({"ask": word, "value": value})
            return self.hear()["done"]


class Stage:
    """The server under test, as a user of the SDK specifies it."""

    def __init__(self, test, host, key, model_url):
        self.test = test
        self.host = host
        self.key = key
        self.model_url = model_url

    def ask(self, word, value=None):
        return self.test.ask(word, value)

    def llm(self, scenario, **more):
        from openhands.sdk import LLM

        return LLM(
            model=f"openai/{scenario}", api_key="sk-test", base_url=self.model_url, usage_id="agent", num_retries=0,
            input_cost_per_token=1e-6, output_cost_per_token=2e-6, **more,
        )

    def agent(self, scenario, **more):
        from openhands.tools.preset.default import get_default_agent

        return get_default_agent(self.llm(scenario, **more), cli_mode=True)

    def scripted_agent(self):
        """An agent whose model is the server's own: a sandbox's key names no model on this host."""
        from openhands.sdk import LLM
        from openhands.tools.preset.default import get_default_agent

        return get_default_agent(LLM(model="scripted/hello", api_key="unused", usage_id="agent"), cli_mode=True)

    def workspace(self, **more):
        from openhands.sdk import RemoteWorkspace

        return RemoteWorkspace(host=self.host, api_key=self.key, **{"working_dir": WORKING_DIR, **more})

    def conversation(self, scenario, **more):
        """A conversation with a scenario of the fake model; more: what Conversation() takes."""
        from openhands.sdk import Conversation

        return Conversation(**{"agent": self.agent(scenario), "workspace": self.workspace(), "visualizer": None, **more})


class Heard:
    """A callback that records events, and can wait for one."""

    def __init__(self):
        self.events = []
        self._changed = threading.Condition()

    def __call__(self, event):
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait(self, matches, what, since=0, deadline_s=60):
        found = []

        def look():
            found[:] = [event for event in self.events[since:] if matches(event)]
            return bool(found)

        with self._changed:
            if not self._changed.wait_for(look, deadline_s):
                raise AssertionError(f"not heard after {deadline_s} s: {what}")
        return found[0]


class Background(threading.Thread):
    """A blocking call in a thread; join() returns its result or raises its error."""

    def __init__(self, call, *arguments, **named):
        super().__init__(daemon=True)
        self._call = lambda: call(*arguments, **named)
        self._outcome = None
        self.start()

    def run(self):
        try:
            self._outcome = (self._call(), None)
        except Exception as problem:
            self._outcome = (None, problem)

    def result(self, deadline_s=120):
        self.join(deadline_s)
        if self._outcome is None:
            raise AssertionError(f"the call did not return in {deadline_s} s")
        value, problem = self._outcome
        if problem is not None:
            raise problem
        return value
