"""Finds RAVENNA sessions with python-zeroconf, as an independent check.

Usage: ravenna-finder.py ADDRESS. Prints one line for each session that appears or disappears.
"""

import sys

from zeroconf import ServiceBrowser, Zeroconf

KIND = "_ravenna_session._sub._rtsp._tcp.local."


class Listener:
    """Prints the events it receives."""

    def add_service(self, zeroconf, _kind, name):
        info = zeroconf.get_service_info("_rtsp._tcp.local.", name, 3000)
        print("came", name, info and info.parsed_addresses(), info and info.server, info and info.port, flush=True)

    def update_service(self, _zeroconf, _kind, name):
        print("changed", name, flush=True)

    def remove_service(self, _zeroconf, _kind, name):
        print("went", name, flush=True)


ours = Zeroconf(interfaces=[sys.argv[1]])
ServiceBrowser(ours, KIND, Listener())
print("ready", flush=True)
sys.stdin.read()
ours.close()
