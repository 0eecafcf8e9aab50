// Python cells in the older action API, with the image's python3 only.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { ActionServer, seen } from "./support/action-server.mjs";

describe("Python cells", () => {
  let server;
  before(async () => {
    server = await new ActionServer().start();
  });
  after(() => server.stop());

  async function act(action, args, more = {}) {
    const reply = await server.send("POST", "/execute_action", { body: JSON.stringify({ action: { action, args, timeout: 60, ...more } }) });
    assert.equal(reply.status, 200, reply.bytes.toString());
    return reply.json;
  }

  const cell = async (code, more = {}) => (await act("run_ipython", { code, include_extra: false }, more)).content;

  test("an observation has the exact shape, with folder and interpreter", async () => {
    const python = execFileSync("sh", ["-c", "command -v python3"]).toString().trim();
    assert.deepEqual(await act("run_ipython", { code: "print('hi')" }), {
      observation: "run_ipython",
      content: `hi\n[Jupyter current working directory: ${server.workspace}]\n[Jupyter Python interpreter: ${python}]`,
      message: "Code executed in IPython cell.",
      extras: { code: "print('hi')", image_urls: null },
    });
    assert.equal((await server.send("POST", "/execute_action", { body: '{"action":{"action":"run_ipython","args":{}}}' })).status, 500);
  });

  test("definitions persist, the last value is shown, and a cell without output says so", async () => {
    const nothing = "[Code executed successfully with no output]";
    assert.equal(await cell("import math\nx = 20\ndef twice(n):\n    return 2 * n"), nothing);
    assert.equal(await cell("twice(x) + math.floor(2.5)"), "42");
    assert.equal(await cell("_ + 1"), "43");
    assert.equal(await cell("x;"), nothing);
    assert.equal(await cell("'ü\\n'"), "'ü\\n'");
    assert.equal(await cell("import asyncio\nasync def later():\n    await asyncio.sleep(0)\n    return 'later'\nawait later()"), "'later'");
    assert.equal(await cell("import sys; print('out'); print('err', file=sys.stderr); __name__"), "out\nerr\n'__main__'");
  });

  test("an error is reported with its line, and the session continues", async () => {
    const told = await cell("x = 1\ndef fall():\n    return 1 / 0\nfall()");
    assert.match(told, /^Traceback \(most recent call last\):\n {2}File "<cell>", line 4, in <module>\n {4}fall\(\)[^]*line 3, in fall[^]*ZeroDivisionError: division by zero$/);
    assert.match(await cell("for"), /SyntaxError/);
    assert.match(await cell("exit(3)"), /SystemExit: 3/);
    assert.equal(await cell("x"), "1");
  });

  test("cells start in the shell's directory, and IPython's special lines work", async () => {
    fs.mkdirSync(path.join(server.workspace, "sub"), { recursive: true });
    await act("run", { command: "cd sub", blocking: true });
    assert.equal(await cell("import os\nos.getcwd()"), `'${server.workspace}/sub'`);
    await cell("os.chdir('/')");
    assert.equal(await cell("os.getcwd()"), "'/'");
    assert.equal(await cell("!echo shell $((40 + 2))\n%matplotlib inline\nfor i in range(2):\n    !echo $((1 + 1))"), "shell 42\n2\n2");
    assert.equal(await cell("%cd /usr\nprint(os.getcwd())\ntext = '''\n!kept'''\ntext"), "/usr\n'\\n!kept'");
    await act("run", { command: "cd ..", blocking: true });
  });

  test("pictures are returned as data URLs", async () => {
    const code = "class Picture:\n    def _repr_png_(self):\n        return b'\\x89PNG'\n    def __repr__(self):\n        return 'a picture'\nPicture()";
    const observation = await act("run_ipython", { code, include_extra: false });
    assert.equal(observation.content, "a picture");
    assert.deepEqual(observation.extras.image_urls, [`data:image/png;base64,${Buffer.from("\x89PNG", "latin1").toString("base64")}`]);
  });

  test("a cell that exceeds its time limit is interrupted, then killed", async () => {
    await cell("kept = 'kept'");
    const late = await cell("import time\nprint('begun', flush=True)\ntime.sleep(600)", { timeout: 5 });
    assert.match(late, /^begun\n[^]*KeyboardInterrupt\n\[Execution timed out \(5 seconds\)\.\]$/);
    assert.equal(await cell("kept"), "'kept'");
    const deaf = await cell("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(600)", { timeout: 5 });
    assert.equal(deaf, "[Execution timed out (5 seconds).]\n[The Python process has ended; its definitions are lost.]");
    assert.match(await cell("kept"), /NameError/);
    assert.equal(await cell("print('last'); import os; os._exit(1)"), "last\n[The Python process has ended; its definitions are lost.]");
    assert.equal(await cell("1 + 1"), "2");
  });

  test("long output is bounded, and invalid bytes are replaced", async () => {
    const long = await cell("print('a' * 200000)\nprint('b' * 200000)");
    assert.equal(long.length, 30000);
    assert.match(long, /^a{14000}[^]*truncated[^]*b{14000}$/);
    assert.equal(await cell("import os\nn = os.write(1, b'\\xff\\x00ok\\x1b[31mred\\x1b[0m')"), "\ufffdokred");
    const mark = path.join(server.workspace, "mark");
    assert.equal(await cell(`code = '${"x".repeat(300000)}'\nopen(${JSON.stringify(mark)}, 'w').close()\nlen(code)`), "300000");
    await seen(mark);
  });

  test("without Python a cell returns an error message", async () => {
    const bare = await new ActionServer({ PATH: "/nonexistent" }).start();
    const reply = await bare.send("POST", "/execute_action", { body: '{"action":{"action":"run_ipython","args":{"code":"1"}}}' });
    assert.deepEqual([reply.status, reply.json.observation, reply.json.content],
      [200, "error", "There is no Python in this sandbox, so cells cannot run. Commands and files still work."]);
    await bare.stop();
  });
});
