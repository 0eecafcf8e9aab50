# A site for previews: python3 site.py PORT. Says what it was asked, streams, and speaks WebSocket.
import base64, hashlib, http.server, json, os, sys, threading, urllib.parse

PORT = int(sys.argv[1])
go = threading.Event()

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

    def do_GET(self):
        self.close_connection = True
        if self.headers.get('Upgrade') == 'websocket':
            self.socket()
        elif self.path == '/stream':
            self.stream()
        elif self.path == '/go':
            go.set()
            self.reply(b'went')
        elif self.path.startswith('/raw?'):
            self.wfile.write(urllib.parse.unquote_to_bytes(self.path[5:]))
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

    do_POST = do_PUT = do_DELETE = do_OPTIONS = said

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
