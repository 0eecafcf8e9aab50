"""Notes over HTTP: python3 server.py PORT"""

import http.server
import json
import re
import sys
import threading

BODY_MAX = 64 * 1024
TEXT_MAX = 1000


class Refused(Exception):
    def __init__(self, status, message, headers=None):
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class Notes:
    def __init__(self):
        self._lock = threading.Lock()
        self._texts = {}
        self._n_made = 0

    def add(self, text):
        with self._lock:
            self._n_made += 1
            self._texts[self._n_made] = text
            return {"id": self._n_made, "text": text}

    def all(self):
        with self._lock:
            return [{"id": number, "text": text} for number, text in self._texts.items()]

    def take(self, number, remove=False):
        with self._lock:
            if number not in self._texts:
                raise Refused(404, "there is no such note")
            text = self._texts.pop(number) if remove else self._texts[number]
        return {"id": number, "text": text}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_request(self):
        try:
            self.route()
        except Refused as refused:
            self.close_connection = True
            self.send(refused.status, {"error": str(refused)}, refused.headers)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = do_HEAD = do_OPTIONS = handle_request

    def route(self):
        notes = self.server.notes
        one = re.fullmatch(r"/notes/([0-9]{1,18})", self.path)
        if self.path == "/notes":
            self.allow("GET", "POST")
            if self.command == "GET":
                self.send(200, {"notes": notes.all()})
            else:
                note = notes.add(self.read_text())
                self.send(201, note, {"Location": f"/notes/{note['id']}"})
        elif one:
            self.allow("GET", "DELETE")
            note = notes.take(int(one[1]), remove=self.command == "DELETE")
            self.send(200, note) if self.command == "GET" else self.send(204, None)
        else:
            raise Refused(404, "there is no such path")

    def allow(self, *methods):
        if self.command not in methods:
            raise Refused(405, f"the method is not one of {', '.join(methods)}", {"Allow": ", ".join(methods)})

    def read_text(self):
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit():
            raise Refused(400, "the length of the body is invalid")
        if int(length) > BODY_MAX:
            self.drain(int(length))
            raise Refused(413, f"the body has more than {BODY_MAX} bytes")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError:
            raise Refused(400, "the body is no JSON") from None
        text = body.get("text") if isinstance(body, dict) else None
        if not isinstance(text, str) or not 1 <= len(text) <= TEXT_MAX:
            raise Refused(400, f"text must have 1 to {TEXT_MAX} characters")
        return text

    def drain(self, length):
        """Reads some of a large body: who still sends does not read the answer."""
        self.rfile.read(min(length, 16 * BODY_MAX))

    def send(self, status, value, headers=None):
        data = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        if value is not None:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


def serve(port):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    server.notes = Notes()
    return server


if __name__ == "__main__":
    serve(int(sys.argv[1])).serve_forever()
