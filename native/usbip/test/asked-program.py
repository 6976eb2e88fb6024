"""Takes questions on a unix socket with their descriptors; what is done is the first word of each.

    python3 asked-program.py PATH
"""
import json
import socket
import sys

OPTIONS = {
    'SO_KEEPALIVE': (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
    'TCP_KEEPIDLE': (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
    'TCP_KEEPINTVL': (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
    'TCP_KEEPCNT': (socket.IPPROTO_TCP, socket.TCP_KEEPCNT),
    'TCP_USER_TIMEOUT': (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
    'TCP_NODELAY': (socket.IPPROTO_TCP, socket.TCP_NODELAY),
}


def answer(peer, line, descriptors):
    word = line.split()[0]
    if word == 'count':
        return 'ok %d\n' % len(descriptors)
    if word == 'options':
        given = socket.socket(fileno=descriptors[0])
        return json.dumps({name: given.getsockopt(*key) for name, key in OPTIONS.items()})
    if word == 'say':
        given = socket.socket(fileno=descriptors[0])
        given.setblocking(True)
        given.sendall(line.encode())
        return 'ok\n'
    if word == 'silence':
        peer.recv(1)  # until whoever asked has gone
        return 'late\n'
    if word == 'long':
        return 'x' * 10_000
    return 'error unknown %s\n' % word


server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
server.bind(sys.argv[1])
server.listen(1)
print('listening', flush=True)
while True:
    peer, _ = server.accept()
    received, descriptors, _, _ = socket.recv_fds(peer, 4096, 4)
    try:
        peer.sendall(answer(peer, received.decode(), descriptors).encode())
    except BrokenPipeError:
        pass
    peer.close()
