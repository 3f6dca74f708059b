# SPDX-License-Identifier: Apache-2.0
"""A service with comments as GitHub and GitLab have it, for tests of scripts/ci/review

    review_service.py PORTFILE LOG

It keeps comments in memory, writes its port to PORTFILE, and each request to LOG as a line of JSON. The token says what
it does: "good" may all, "read" may list alone, "broken" gets status 500, "once" 500 for the first request of each run,
anything else 401. A list has as many items a page as it is asked for; 120 strangers wrote before us."""
import http.server
import json
import re
import sys

COMMENTS = {"github": [], "gitlab": []}
for kind in COMMENTS:
    COMMENTS[kind] += [{"id": n, "body": "<!-- minspect review other --> not ours" if n == 7 else "a remark"} for n in range(120)]
FAILED_ONCE = set()
# list and item of both services
ROUTES = (
    ("github", "PATCH", r"/repos/owner/repo/issues/(?:5/comments|comments/(\d+))"),
    ("gitlab", "PUT", r"/api/v4/projects/42/merge_requests/5/notes(?:/(\d+))?"),
)


class Service(http.server.BaseHTTPRequestHandler):
    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"null")
        path, _, query = self.path.partition("?")
        token = self.headers.get("PRIVATE-TOKEN") or (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        with open(sys.argv[2], "a", encoding="utf-8") as log:
            log.write(json.dumps([self.command, self.path, body and body["body"]]) + "\n")
        for kind, renew, pattern in ROUTES:
            found = re.fullmatch(pattern, path)
            if not found:
                continue
            if token == "broken" or (token == "once" and (self.command, path) not in FAILED_ONCE):
                FAILED_ONCE.add((self.command, path))
                return self.answer(500, {})
            if token not in ("good", "once", "read"):
                return self.answer(401, {})
            if token == "read" and self.command != "GET":
                return self.answer(403, {})
            comments = COMMENTS[kind]
            if self.command == "GET":
                numbers = dict(pair.split("=") for pair in query.split("&"))
                size, page = int(numbers["per_page"]), int(numbers["page"])
                return self.answer(200, comments[(page - 1) * size:page * size])
            if self.command == "POST" and not found[1]:
                comments.append({"id": len(comments), "body": body["body"]})
                return self.answer(201, comments[-1])
            if self.command == renew and found[1]:
                comments[int(found[1])]["body"] = body["body"]
                return self.answer(200, comments[int(found[1])])
        return self.answer(404, {})

    do_GET = do_POST = do_PATCH = do_PUT = serve

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
with open(sys.argv[1], "w", encoding="utf-8") as f:
    f.write(str(server.server_address[1]))
server.serve_forever()
