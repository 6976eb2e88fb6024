/** Sends descriptors over a Unix socket, which Node cannot: by Python. */
import { spawnSync } from 'node:child_process'

const PROGRAM = `
import os, socket, sys
path, text, *kinds = sys.argv[1:]
kept = []
def keep(thing):
    kept.append(thing)
    return thing.fileno() if hasattr(thing, 'fileno') else thing
def make(kind):
    if kind == 'file': return keep(open('/dev/null'))
    if kind == 'pipe': return [keep(fd) for fd in os.pipe()][0]
    if kind == 'udp': return keep(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    if kind == 'unix': return [keep(end) for end in socket.socketpair()][0]
    if kind == 'unconnected': return keep(socket.socket())
    server = socket.create_server(('127.0.0.1', 0))
    keep(server)
    client = socket.create_connection(server.getsockname())
    return keep(client)
far = socket.socket(socket.AF_UNIX)
far.settimeout(10)
far.connect(path)
socket.send_fds(far, [text.encode()], [make(kind) for kind in kinds])
answer = b''
while part := far.recv(4096): answer += part
sys.stdout.write(answer.decode('latin1'))
`

/** Python 3.9 or newer is there. */
export const hasDescriptors =
  spawnSync('python3', ['-c', 'import socket; socket.send_fds'], { stdio: 'ignore' }).status === 0

/** @param kinds what is sent along: tcp, unconnected, udp, unix, pipe, file @returns the answer */
export function sayWithDescriptors(path: string, text: string, kinds: readonly string[]): string {
  const done = spawnSync('python3', ['-c', PROGRAM, path, text, ...kinds], { encoding: 'utf8', timeout: 15_000 })
  if (done.status !== 0) throw new Error(`python3 ended with ${done.status}: ${done.stderr}`)
  return done.stdout
}
