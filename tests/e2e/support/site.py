# A site for previews: python3 site.py PORT. Says what it was asked, streams, and speaks WebSocket.
import base64, hashlib, http.server, json, os, sys, threading, time, urllib.parse

PORT = int(sys.argv[1])
go = threading.Event()
ended = threading.Event()

class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def reply(self, body, *headers, status=200):
        self.send_response(status)
        for name, value in (('Content-Length', str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def said(self):
        length = int(self.headers.get('Content-Length', 0))
        body = self.rfile.read(length).decode()
        told = {'port': PORT, 'method': self.command, 'path': self.path, 'headers': [[n.lower(), v] for n, v in self.headers.items()], 'body': body}
        self.reply(json.dumps(told).encode(), ('Content-Type', 'application/json'))

    def stream(self):
        self.send_response(200)
        self.send_header('Transfer-Encoding', 'chunked')
        self.send_header('Content-Type', 'text/event-stream')
        self.end_headers()
        self.wfile.write(b'7\r\nfirst\n\n\r\n')
        self.wfile.flush()
        go.wait(60)
        self.wfile.write(b'8\r\nsecond\n\n\r\n0\r\n\r\n')

    def socket(self):
        accept = hashlib.sha1((self.headers['Sec-WebSocket-Key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest()
        self.send_response(101)
        self.send_header('Upgrade', 'websocket')
        self.send_header('Connection', 'Upgrade')
        self.send_header('Sec-WebSocket-Accept', base64.b64encode(accept).decode())
        self.end_headers()
        while True:
            head = self.rfile.read(6)
            if len(head) < 6 or head[0] & 15 == 8:
                return
            text = bytes(b ^ head[2 + i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127)))
            self.wfile.write(bytes([0x81, len(text)]) + text)

    # An endless head, until the client disconnects.
    def endless(self, begin, line):
        try:
            self.wfile.write(begin)
            while True:
                self.wfile.write(line * 1000)
        except OSError:
            ended.set()

    def pieces(self, target):
        for piece in target.split('~'):
            self.wfile.write(urllib.parse.unquote_to_bytes(piece))
            self.wfile.flush()
            time.sleep(0.01)

    def large(self, n):
        self.send_response(200)
        self.send_header('Content-Length', str(n << 20))
        self.end_headers()
        try:
            for _ in range(n):
                self.wfile.write(bytes(range(256)) * 4096)
        except OSError:
            ended.set()

    # Reads nothing of what is sent until it is told to.
    def sink(self):
        go.wait(60)
        left = int(self.headers['Content-Length'])
        digest = hashlib.sha256()
        while left > 0:
            chunk = self.rfile.read(min(left, 65536))
            if not chunk:
                return
            left -= len(chunk)
            digest.update(chunk)
        self.reply(digest.hexdigest().encode())

    # Says no before it has read what is sent.
    def early(self):
        self.close_connection = True
        self.reply(b'too much', ('Connection', 'close'), status=413)

    def do_POST(self):
        {'/sink': self.sink, '/early': self.early}.get(self.path, self.said)()

    def do_GET(self):
        self.close_connection = True
        if self.path.startswith('/raw?'):
            self.wfile.write(urllib.parse.unquote_to_bytes(self.path[5:]))
        elif self.headers.get('Upgrade') == 'websocket':
            self.socket()
        elif self.path == '/stream':
            self.stream()
        elif self.path == '/go':
            go.set()
            self.reply(b'went')
        elif self.path.startswith('/pieces?'):
            self.pieces(self.path[8:])
        elif self.path == '/endless':
            self.endless(b'HTTP/1.1 200 OK\r\n', b'X-A: b\r\n')
        elif self.path == '/endless-line':
            self.endless(b'HTTP/1.1 200 ', b'x' * 100)
        elif self.path == '/endless-early':
            self.endless(b'', b'HTTP/1.1 103 Early Hints\r\n\r\n')
        elif self.path == '/endless-hint':
            self.endless(b'HTTP/1.1 103 Early Hints\r\n', b'X-A: b\r\n')
        elif self.path.startswith('/large?'):
            self.large(int(self.path[7:]))
        elif self.path == '/ended':
            self.reply(b'yes' if ended.wait(60) else b'no')
            ended.clear()
        elif self.path == '/redirect':
            self.reply(b'', ('Location', f'http://localhost:{PORT}/there?x=1'), status=302)
        elif self.path == '/accel':
            self.reply(b'mine', ('X-Accel-Redirect', '/.deft/check'), ('Set-Cookie', 'own=1; Domain=localhost; Path=/'))
        elif self.path == '/page':
            self.reply(b'<!doctype html><title>Site</title><h1>Served in the sandbox</h1><p id=said></p><script>\n'
                       b'fetch("/data", {method: "POST", body: "x"}).then((a) => a.json()).then((said) => {\n'
                       b'  const socket = new WebSocket(`ws://${location.host}/socket`);\n'
                       b'  socket.onopen = () => socket.send("echo");\n'
                       b'  socket.onmessage = ({data}) => { document.getElementById("said").textContent = `${said.method} ${data} [${document.cookie}]`; };\n'
                       b'});</script>', ('Content-Type', 'text/html'))
        else:
            self.said()

    do_PUT = do_DELETE = do_OPTIONS = said

    def log_message(self, *_):
        pass

class Server(http.server.ThreadingHTTPServer):
    address_family = 2
    daemon_threads = True

server = Server(('0.0.0.0', PORT), Site)
if os.fork():
    os._exit(0)
os.setsid()
for fd in (0, 1, 2):
    os.dup2(os.open('/dev/null', os.O_RDWR), fd)
server.serve_forever()
