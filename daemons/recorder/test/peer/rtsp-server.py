"""A camera made of GStreamer's RTSP server: sends a file again and again, with Digest where asked.

Arguments: FILE (Matroska), one --pay ELEMENT for each of its tracks in their order, and --user NAME PASSWORD where it
wants them. With --loudspeaker FILE it has one (ONVIF backchannel, G.711 mu-law), and writes the samples that it is sent
into FILE, 16 bits each. Prints its port, then reads commands: `quit` ends it.
"""
import argparse
import sys
import gi

gi.require_version('Gst', '1.0')
gi.require_version('GstRtsp', '1.0')
gi.require_version('GstRtspServer', '1.0')
from gi.repository import GLib, Gst, GstRtsp, GstRtspServer  # noqa: E402

asked = argparse.ArgumentParser()
asked.add_argument('file')
asked.add_argument('--pay', action='append', default=[])
asked.add_argument('--user', nargs=2)
asked.add_argument('--loudspeaker')
asked = asked.parse_args()

Gst.init(None)
server = GstRtspServer.RTSPOnvifServer() if asked.loudspeaker else GstRtspServer.RTSPServer()
server.set_address('127.0.0.1')
server.set_service('0')
factory = GstRtspServer.RTSPOnvifMediaFactory() if asked.loudspeaker else GstRtspServer.RTSPMediaFactory()
tracks = ' '.join(f'file. ! queue ! {pay} name=pay{at} pt={96 + at} mtu=1200' for at, pay in enumerate(asked.pay))
factory.set_launch(f'( filesrc location={asked.file} ! matroskademux name=file {tracks} )')
factory.set_shared(False)
if asked.loudspeaker:
    factory.set_media_gtype(GstRtspServer.RTSPOnvifMedia)
    heard = 'capsfilter caps="application/x-rtp,media=audio,payload=0,clock-rate=8000,encoding-name=PCMU" name=depay_backchannel'
    sink = f'filesink location={asked.loudspeaker} append=true buffer-mode=unbuffered async=false sync=false'
    factory.set_backchannel_launch(f'( {heard} ! rtppcmudepay ! mulawdec ! audio/x-raw,format=S16LE ! {sink} )')
if asked.user:
    auth = GstRtspServer.RTSPAuth()
    auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
    token = GstRtspServer.RTSPToken()
    token.set_string('media.factory.role', 'user')
    auth.add_digest(*asked.user, token)
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
