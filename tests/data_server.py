"""A web server on this machine that behaves as tests tell it to, and files as servers of data sets have them."""

import hashlib
import io
import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class DataServer:
    """Answers paths with what `routes` has: bytes, or a function of the handler."""

    def __init__(self, *, is_daemon=False):
        self.routes = {}
        self.asked = []
        self.released = threading.Event()  # what silent answers wait for
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                answer = outer.routes.get(self.path)
                if answer is None:
                    self.send_error(404)
                elif isinstance(answer, bytes):
                    send(self, answer)
                else:
                    answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=is_daemon
        )
        self.thread.start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def add_openml(self, number, arff, label, md5=None, **fields):
        """Serve a data set as OpenML does: a description that points to the file."""
        path = f"/data/v1/download/{number}/set.arff"
        described = {
            "id": str(number),
            "format": "ARFF",
            "url": f"https://www.openml.org{path}",
            "md5_checksum": hashlib.md5(arff).hexdigest() if md5 is None else md5,
            "default_target_attribute": label,
        }
        self.routes[f"/api/v1/json/data/{number}"] = json.dumps({"data_set_description": described | fields}).encode()
        self.routes[path] = arff
        return path


def send(handler, body, length=None):
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    handler.wfile.write(body)


def breaking_off(body):
    """Answer with a part of a body of which the whole was announced."""
    return lambda handler: send(handler, body[: len(body) // 2], len(body))


def failing(times, body):
    """Answer 503 some times, then with a body."""
    left = [times]

    def answer(handler):
        left[0] -= 1
        if left[0] >= 0:
            handler.send_error(503)
        else:
            send(handler, body)

    return answer


def silent(server):
    """Take a request and say nothing."""
    return lambda _: server.released.wait(600)


def silent_after_a_part(server, body):
    """Send a part of a body, then nothing more."""

    def answer(handler):
        send(handler, body[:10], len(body))
        handler.wfile.flush()
        server.released.wait(600)

    return answer


def arff_of(columns, label, labels):
    """Return an ARFF file: columns by name, of numbers or of texts; None is missing."""
    everything = columns | {label: [str(one) for one in labels]}
    lines = ["% made up", "@RELATION made_up", ""]
    for name, cells in everything.items():
        texts = sorted({str(cell) for cell in cells if isinstance(cell, str)})
        lines.append(f"@ATTRIBUTE '{name}' {'{' + ','.join(texts) + '}' if texts else 'NUMERIC'}")
    lines += ["", "@DATA"]
    for row in zip(*everything.values(), strict=True):
        lines.append(",".join("?" if cell is None else cell if isinstance(cell, str) else repr(cell) for cell in row))
    return "\n".join(lines).encode()


def zip_of(files):
    """Return a zip file of texts by name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return file.getvalue()
