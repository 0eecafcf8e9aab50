/*
 * The Python program that runs cells: it stays, so that a cell's definitions are available to the
 * next one.
 *
 * A cell is in a memory file (descriptor 3) as {"code", "cwd"}; a byte on descriptor 5 announces
 * it, a line of JSON on descriptor 4 reports its end. Its output goes to standard output and error.
 * Code that Python rejects is tried again with IPython's lines translated to Python: !command,
 * %pip, %cd; other %lines are dropped.
 */
#ifndef DEFT_SANDBOX_LEGACY_PYTHON_DRIVER_H
#define DEFT_SANDBOX_LEGACY_PYTHON_DRIVER_H

enum { CELL_FD = 3, CELL_RECORD_FD = 4, CELL_BEGIN_FD = 5 };

#define PYTHON_DRIVER                                                                              \
    "import ast, base64, inspect, io, json, linecache, os, subprocess, sys, traceback\n"           \
    "os.environ.setdefault('MPLBACKEND', 'Agg')\n"                                                 \
    "space = {'__name__': '__main__', '__builtins__': __builtins__}\n"                             \
    "waiting = None\n"                                                                             \
    "def shell(command):\n"                                                                        \
    "    sys.stdout.flush()\n"                                                                     \
    "    subprocess.run(command, shell=True)\n"                                                    \
    "space['__deft_shell'] = shell\n"                                                              \
    "space['__deft_cd'] = os.chdir\n"                                                              \
    "def plain(line):\n"                                                                           \
    "    body = line.lstrip()\n"                                                                   \
    "    pad = line[:len(line) - len(body)]\n"                                                     \
    "    if body.startswith('!'):\n"                                                               \
    "        return pad + '__deft_shell(%r)' % body[1:]\n"                                         \
    "    if body.startswith('%pip '):\n"                                                           \
    "        return pad + '__deft_shell(%r)' % (sys.executable + ' -m ' + body[1:])\n"             \
    "    if body.startswith('%cd '):\n"                                                            \
    "        return pad + '__deft_cd(%r)' % os.path.expanduser(body[4:].strip())\n"                \
    "    return pad + 'pass' if body.startswith('%') else None\n"                                  \
    "def parse(code):\n"                                                                           \
    "    lines = code.split('\\n')\n"                                                              \
    "    while True:\n"                                                                            \
    "        try:\n"                                                                               \
    "            return ast.parse('\\n'.join(lines))\n"                                            \
    "        except SyntaxError as error:\n"                                                       \
    "            at = (error.lineno or 0) - 1\n"                                                   \
    "            line = plain(lines[at]) if 0 <= at < len(lines) else None\n"                      \
    "            if line is None:\n"                                                               \
    "                raise\n"                                                                      \
    "            lines[at] = line\n"                                                               \
    "def run(tree, kind):\n"                                                                       \
    "    global waiting\n"                                                                         \
    "    value = eval(compile(tree, '<cell>', kind, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), space)\n"     \
    "    if inspect.iscoroutine(value):\n"                                                         \
    "        import asyncio\n"                                                                     \
    "        waiting = waiting or asyncio.new_event_loop()\n"                                      \
    "        value = waiting.run_until_complete(value)\n"                                          \
    "    return value\n"                                                                           \
    "def execute(code, images):\n"                                                                 \
    "    linecache.cache['<cell>'] = (len(code), None, code.splitlines(True), '<cell>')\n"         \
    "    tree = parse(code)\n"                                                                     \
    "    last = None\n"                                                                            \
    "    if tree.body and isinstance(tree.body[-1], ast.Expr):\n"                                  \
    "        last = ast.Expression(tree.body.pop().value)\n"                                       \
    "    run(tree, 'exec')\n"                                                                      \
    "    value = run(last, 'eval') if last else None\n"                                            \
    "    if value is None or code.rstrip().endswith(';'):\n"                                       \
    "        return\n"                                                                             \
    "    space['_'] = value\n"                                                                     \
    "    draw = getattr(value, '_repr_png_', None)\n"                                              \
    "    picture = draw() if callable(draw) else None\n"                                           \
    "    if isinstance(picture, bytes):\n"                                                         \
    "        images.append(picture)\n"                                                             \
    "    print(repr(value))\n"                                                                     \
    "def figures(images):\n"                                                                       \
    "    plots = sys.modules.get('matplotlib.pyplot')\n"                                           \
    "    for number in plots.get_fignums() if plots else []:\n"                                    \
    "        out = io.BytesIO()\n"                                                                 \
    "        plots.figure(number).savefig(out, format='png')\n"                                    \
    "        images.append(out.getvalue())\n"                                                      \
    "    if plots:\n"                                                                              \
    "        plots.close('all')\n"                                                                 \
    "def complain():\n"                                                                            \
    "    kind, error, trace = sys.exc_info()\n"                                                    \
    "    while trace and trace.tb_frame.f_code.co_filename != '<cell>':\n"                         \
    "        trace = trace.tb_next\n"                                                              \
    "    traceback.print_exception(kind, error, trace, file=sys.stdout)\n"                         \
    "def cell():\n"                                                                                \
    "    order = json.loads(os.pread(3, os.fstat(3).st_size, 0))\n"                                \
    "    images = []\n"                                                                            \
    "    try:\n"                                                                                   \
    "        if order['cwd']:\n"                                                                   \
    "            os.chdir(order['cwd'])\n"                                                         \
    "        execute(order['code'], images)\n"                                                     \
    "        figures(images)\n"                                                                    \
    "    except BaseException:\n"                                                                  \
    "        complain()\n"                                                                         \
    "    sys.stdout.flush()\n"                                                                     \
    "    sys.stderr.flush()\n"                                                                     \
    "    urls = ['data:image/png;base64,' + base64.b64encode(i).decode() for i in images]\n"       \
    "    while sum(map(len, urls)) > 8000000:\n"                                                   \
    "        urls.pop()\n"                                                                         \
    "    os.fdopen(os.dup(4), 'wb').write(json.dumps({'images': urls}).encode() + b'\\n')\n"       \
    "while True:\n"                                                                                \
    "    try:\n"                                                                                   \
    "        if not os.read(5, 1):\n"                                                              \
    "            break\n"                                                                          \
    "        cell()\n"                                                                             \
    "    except KeyboardInterrupt:\n"                                                              \
    "        pass\n"

#endif
