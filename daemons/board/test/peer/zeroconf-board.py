"""Announces a board with python-zeroconf and finds others with it, as an independent check.

Usage: zeroconf-board.py ADDRESS. Prints one line for each service that appears, changes or disappears.
"""

import socket
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from zeroconf import ServiceBrowser, ServiceInfo, Zeroconf

ADDRESS = sys.argv[1]
KIND = "_plantroom._tcp.local."
NAME = f"Stranger.{KIND}"


class Answer(BaseHTTPRequestHandler):
    """Refuses every request under its name, as a board with a password does."""

    def do_GET(self):
        self.send_response(401)
        self.send_header("plantroom-instance", NAME.lower().rstrip("."))
        self.end_headers()

    def log_message(self, *_args):
        pass


class Listener:
    """Prints the events it receives."""

    def add_service(self, zeroconf, kind, name):
        info = zeroconf.get_service_info(kind, name, 3000)
        texts = {key.decode(): value.decode() for key, value in info.properties.items()} if info else None
        print("came", name, info and info.parsed_addresses(), info and info.server, info and info.port, texts, flush=True)

    def update_service(self, _zeroconf, _kind, name):
        print("changed", name, flush=True)

    def remove_service(self, _zeroconf, _kind, name):
        print("went", name, flush=True)


Thread(target=HTTPServer((ADDRESS, 8080), Answer).serve_forever, daemon=True).start()
ours = Zeroconf(interfaces=[ADDRESS])
texts = {"role": "usbip", "name": "Stranger", "version": "9.9.9", "path": "/"}
ours.register_service(
    ServiceInfo(KIND, NAME, 8080, addresses=[socket.inet_aton(ADDRESS)], properties=texts, server="stranger.local.")
)
ServiceBrowser(ours, KIND, Listener())
print("ready", flush=True)
sys.stdin.read()
ours.unregister_all_services()
ours.close()
