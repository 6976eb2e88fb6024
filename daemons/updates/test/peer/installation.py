"""An installation, written from the interface document alone: registers, checks, and fetches with a break in between.

    installation.py URL ID register|update FILE

`register` prints the status of the first question. `update` asks, fetches the archive in two parts, the second with Range and
If-Range, holds its size and its SHA-256 to what was said, writes it to FILE, and prints what was said as JSON.
"""
import hashlib
import json
import sys
import urllib.error
import urllib.request

url, installation_id, what, path = sys.argv[1:]


def post(route, body, headers=None):
    request = urllib.request.Request(
        url + route,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", **(headers or {})},
        method="POST",
    )
    return urllib.request.urlopen(request, timeout=30)


question = {"installation_id": installation_id, "version": "1.0.0", "arch": "amd64"}
if what == "register":
    try:
        post("/check_update", question)
        print("200")
    except urllib.error.HTTPError as refused:
        print(refused.code)
    sys.exit()

answer = json.load(post("/check_update", question))
assert answer["update"] is True, answer
pull = {"installation_id": installation_id, "version": answer["version"]}

# The line breaks after some bytes: what came is kept.
whole = post("/pull_update", pull)
assert whole.status == 200 and whole.headers["Accept-Ranges"] == "bytes"
assert int(whole.headers["Content-Length"]) == answer["size"]
etag = whole.headers["ETag"]
assert etag == '"%s"' % answer["checksum"]
archive = whole.read(100_001)
whole.close()

rest = post("/pull_update", pull, {"Range": "bytes=%d-" % len(archive), "If-Range": etag})
assert rest.status == 206, rest.status
assert rest.headers["Content-Range"] == "bytes %d-%d/%d" % (len(archive), answer["size"] - 1, answer["size"])
archive += rest.read()

assert len(archive) == answer["size"]
assert hashlib.sha256(archive).hexdigest() == answer["checksum"]
with open(path, "wb") as file:
    file.write(archive)
print(json.dumps(answer))
