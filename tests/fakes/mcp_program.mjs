// A server of the Model Context Protocol that is a program: it keeps a number from call to call, and records what it
// was sent in the file $RECORD, a line each.
export const PROGRAM = `import json, os, sys
n = 0
def record(words):
    if "RECORD" in os.environ:
        with open(os.environ["RECORD"], "a") as file:
            print(words, file=file)
def reply(m, result):
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
def say(m, words):
    reply(m, {"content": [{"type": "text", "text": words}]})
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ["count", "wait", "die"]]
print("a banner", flush=True)
for line in sys.stdin:
    m = json.loads(line)
    method = m.get("method")
    name = m.get("params", {}).get("name", "")
    record(f"{os.getpid()} {method} {name or m.get('params', {}).get('requestId', '')}".strip())
    if method == "initialize":
        reply(m, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "counter", "version": "1"}})
    elif method == "tools/list":
        reply(m, {"tools": TOOLS})
    elif name == "count":
        n += 1
        say(m, f"{n} by {os.getpid()} with {os.environ.get('KEY', 'nothing')}")
    elif name == "die":
        print("its last words", file=sys.stderr, flush=True)
        os._exit(3)
`;
