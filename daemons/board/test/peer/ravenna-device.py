"""Announces a session with python-zeroconf and describes it over RTSP, as RAVENNA devices do.

Usage: ravenna-device.py ADDRESS NAME. The first line of standard input is the description; ends when that input ends.
"""

import socket
import socketserver
import sys
from threading import Thread
from urllib.parse import unquote

from zeroconf import ServiceInfo, Zeroconf

ADDRESS, NAME = sys.argv[1:]
SDP = sys.stdin.readline().encode().decode("unicode_escape").encode()


class Describe(socketserver.StreamRequestHandler):
    """Answers one request after the other."""

    def handle(self):
        while start := self.rfile.readline().decode().strip():
            method, url, _version = start.split(" ")
            headers = {}
            while line := self.rfile.readline().decode().strip():
                name, value = line.split(":", 1)
                headers[name.lower()] = value.strip()
            found = method == "DESCRIBE" and unquote(url).endswith(f"/by-name/{NAME}")
            head = f"RTSP/1.0 {'200 OK' if found else '404 Not Found'}\r\nCSeq: {headers['cseq']}\r\n"
            body = SDP if found else b""
            head += f"Content-Type: application/sdp; charset=utf8\r\nContent-Length: {len(body)}\r\n\r\n"
            self.wfile.write(head.encode() + body)


server = socketserver.ThreadingTCPServer((ADDRESS, 0), Describe)
server.daemon_threads = True
Thread(target=server.serve_forever, daemon=True).start()
ours = Zeroconf(interfaces=[ADDRESS])
info = ServiceInfo(
    "_ravenna_session._sub._rtsp._tcp.local.",
    f"{NAME}._rtsp._tcp.local.",
    server.server_address[1],
    addresses=[socket.inet_aton(ADDRESS)],
    server="device.local.",
)
ours.register_service(info)
print("ready", flush=True)
sys.stdin.read()
# Stops answering first, then says goodbye.
server.shutdown()
server.server_close()
ours.unregister_service(info)
ours.close()
