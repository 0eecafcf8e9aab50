// A git server inside the sandbox of a Box, used like any other host:
// git's own HTTP back end, with a password for private repositories.
import { randomUUID } from 'node:crypto';
import { WORKING_DIR } from './instance.mjs';
import { waitUntil } from './wait.mjs';

const SERVER = `import base64, os, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
root, wanted = sys.argv[1], "Basic " + base64.b64encode(sys.argv[2].encode()).decode()
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"
    def answer(self):
        path, _, query = self.path.partition("?")
        if path.startswith("/stalled"):
            open(root + "/stalled", "w").close()
            time.sleep(600)
        if path.startswith("/private") and self.headers.get("Authorization") != wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic realm=git")
            self.end_headers()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            import gzip; body = gzip.decompress(body)
        environment = {**os.environ, "GIT_PROJECT_ROOT": root, "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": self.command, "PATH_INFO": path,
            "QUERY_STRING": query, "CONTENT_TYPE": self.headers.get("Content-Type") or "", "CONTENT_LENGTH": str(len(body)),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "", "REMOTE_ADDR": "127.0.0.1"}
        out = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE).stdout
        head, _, rest = out.partition(b"\\r\\n\\r\\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\\r\\n"))
        self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
        for name, value in fields.items(): self.send_header(name, value)
        self.end_headers()
        self.wfile.write(rest)
    do_GET = do_POST = answer
    def log_message(self, *args): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(root + "/port", "w") as file: file.write(str(server.server_address[1]))
server.serve_forever()
`;

export class GitServer {
  static async start(box, credentials = 'someone:a secret/with:signs') {
    const server = new GitServer();
    Object.assign(server, { box, credentials, root: `${WORKING_DIR}/git-${randomUUID().slice(0, 8)}` });
    await box.run(`mkdir -p ${server.root}`, { cwd: '/workspace' });
    await box.upload(`${server.root}/server.py`, SERVER);
    await box.run(`cd ${server.root} && (setsid nohup python3 server.py ${server.root} '${credentials}' >log 2>&1 & echo $! >pid)`);
    const port = await waitUntil(async () => (await box.run(`cat ${server.root}/port 2>/dev/null || true`)).trim(), 'the git server listens');
    server.url = `http://127.0.0.1:${port}`;
    return server;
  }

  /** Creates or changes a repository: files by path (null: a link to links[path]); resolves with the commit. */
  async commit(name, files, links = {}) {
    const work = `${this.root}/work/${name}`;
    await this.box.run(`mkdir -p ${this.root}/${name.includes('/') ? name.split('/')[0] : '.'} && [ -d ${this.root}/${name}.git ] || git init -q --bare -b main ${this.root}/${name}.git; [ -d ${work} ] || git clone -q ${this.root}/${name}.git ${work}`);
    for (const [path, text] of Object.entries(files)) await this.box.upload(`${work}/${path}`, text);
    for (const [path, target] of Object.entries(links)) await this.box.run(`mkdir -p $(dirname ${work}/${path}) && ln -sfn ${target} ${work}/${path}`);
    await this.box.run(`cd ${work} && git add -A && git -c user.name=t -c user.email=t@t commit -qm change && git push -q origin HEAD:main && git rev-parse HEAD >${this.root}/head`);
    return (await this.box.run(`cat ${this.root}/head`)).trim();
  }

  stop() {
    return this.box.run(`kill $(cat ${this.root}/pid); rm -rf ${this.root}`);
  }
}
