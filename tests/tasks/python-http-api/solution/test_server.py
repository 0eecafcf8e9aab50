import http.client
import json
import socket
import subprocess
import sys
import time
import unittest


class ServerTest(unittest.TestCase):
    def setUp(self):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.server = subprocess.Popen([sys.executable, "server.py", str(self.port)])
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)
        self.fail("the server does not listen")

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, path, body)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, json.loads(data) if data else None

    def test_note_is_kept_until_it_is_deleted(self):
        self.assertEqual(self.ask("POST", "/notes", '{"text": "a"}'), (201, {"id": 1, "text": "a"}))
        self.assertEqual(self.ask("GET", "/notes/1"), (200, {"id": 1, "text": "a"}))
        self.assertEqual(self.ask("DELETE", "/notes/1"), (204, None))
        self.assertEqual(self.ask("GET", "/notes/1")[0], 404)
        self.assertEqual(self.ask("GET", "/notes"), (200, {"notes": []}))

    def test_invalid_requests_are_refused(self):
        self.assertEqual(self.ask("POST", "/notes", "no JSON")[0], 400)
        self.assertEqual(self.ask("PUT", "/notes", "{}")[0], 405)


if __name__ == "__main__":
    unittest.main()
