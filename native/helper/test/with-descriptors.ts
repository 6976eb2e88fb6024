/** Sends descriptors over a Unix socket, which Node cannot: TCP connections by our addon, all others by Python. */
import { spawnSync } from 'node:child_process'
import { type AddressInfo, connect, createServer } from 'node:net'
import type { Test } from 'tap'
import { askWithFd } from '../../usbip/index.ts'

const PROGRAM = `
import json, os, socket, sys
path, requests = sys.argv[1], json.loads(sys.argv[2])
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
def say(text, kinds):
    far = socket.socket(socket.AF_UNIX)
    far.settimeout(10)
    far.connect(path)
    socket.send_fds(far, [text.encode()], [make(kind) for kind in kinds])
    answer = b''
    while part := far.recv(4096): answer += part
    return answer.decode('latin1')
json.dump([say(text, kinds) for text, kinds in requests], sys.stdout)
`

/** Whether Python 3.9 or newer is installed. */
export const hasDescriptors =
  spawnSync('python3', ['-c', 'import socket; socket.send_fds'], { stdio: 'ignore' }).status === 0

/** A request, and the descriptors sent along: tcp, unconnected, udp, unix, pipe, file. */
export type RequestWith = readonly [text: string, kinds: readonly string[]]

/** Sends the requests one after the other, each over its own connection. @returns the answers */
export function sayWithDescriptors(path: string, requests: readonly RequestWith[]): string[] {
  const words = ['-I', '-c', PROGRAM, path, JSON.stringify(requests)]
  const done = spawnSync('python3', words, { encoding: 'utf8', timeout: 25_000 })
  if (done.status !== 0) throw new Error(`python3 ended with ${done.status}: ${done.stderr}`)
  return JSON.parse(done.stdout)
}

/**
 * Opens a connection with both ends in this process. @returns a function that sends it along with a request, and
 * resolves with the answer
 */
export async function tcpSender(t: Test, path: string): Promise<(text: string) => Promise<string>> {
  const server = createServer((socket) => socket.unref())
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await new Promise((resolve) => far.once('connect', resolve))
  t.teardown(() => {
    far.destroy()
    server.close()
  })
  const { fd } = (far as unknown as { _handle: { fd: number } })._handle
  return (text) => askWithFd(path, text, fd, { timeoutMs: 20_000, mostBytes: 1024 })
}
