"""A camera made of GStreamer's RTSP server: sends an H.264 file again and again, over TCP, with Digest where asked.

Arguments: FILE (Matroska with H.264), and USER PASSWORD where it wants them. Prints its port, then reads commands:
`quit` ends it.
"""
import sys
import gi

gi.require_version('Gst', '1.0')
gi.require_version('GstRtsp', '1.0')
gi.require_version('GstRtspServer', '1.0')
from gi.repository import GLib, Gst, GstRtsp, GstRtspServer  # noqa: E402

Gst.init(None)
server = GstRtspServer.RTSPServer()
server.set_address('127.0.0.1')
server.set_service('0')
factory = GstRtspServer.RTSPMediaFactory()
factory.set_launch(
    f'( filesrc location={sys.argv[1]} ! matroskademux '
    '! rtph264pay config-interval=-1 name=pay0 pt=96 mtu=1200 )'
)
factory.set_shared(False)
if len(sys.argv) > 3:
    auth = GstRtspServer.RTSPAuth()
    auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
    token = GstRtspServer.RTSPToken()
    token.set_string('media.factory.role', 'user')
    auth.add_digest(sys.argv[2], sys.argv[3], token)
    server.set_auth(auth)
    permissions = GstRtspServer.RTSPPermissions()
    permissions.add_permission_for_role('user', 'media.factory.access', True)
    permissions.add_permission_for_role('user', 'media.factory.construct', True)
    factory.set_permissions(permissions)
server.get_mount_points().add_factory('/cam', factory)
server.attach(None)
loop = GLib.MainLoop()
print(server.get_bound_port(), flush=True)
GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, lambda *_: loop.quit())
loop.run()
