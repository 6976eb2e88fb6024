/** A peer whose cable is pulled: it says nothing any more, and the connection ends by itself. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { setPatience, type TcpConnection, TcpListener } from '../index.ts'

const PATIENCE = { idleS: 1, intervalS: 1, count: 2, userTimeoutMs: 3000 }
const SPACE = `pt-gone-${process.pid}`
/** Ends of the cable: another run on this machine may have its own. */
const NEAR = `ptg${process.pid}a`
const FAR = `ptg${process.pid}b`
const PEER = `
import socket, sys
peer = socket.create_connection(('10.99.0.1', int(sys.argv[1])))
print('there', flush=True)
sys.stdin.read()
`

function ip(...words: string[]): void {
  execFileSync('ip', words, { stdio: 'pipe' })
}

/** Why there can be no cable here, or false. */
function cannot(): string | false {
  try {
    ip('netns', 'add', `${SPACE}-try`)
    ip('netns', 'del', `${SPACE}-try`)
    return false
  } catch {
    return 'network namespaces need root'
  }
}

/** A cable between here and a namespace. */
function lay(t: Test): void {
  ip('netns', 'add', SPACE)
  t.teardown(() => ip('netns', 'del', SPACE))
  ip('link', 'add', NEAR, 'type', 'veth', 'peer', 'name', FAR, 'netns', SPACE)
  t.teardown(() => ip('link', 'del', NEAR))
  ip('addr', 'add', '10.99.0.1/24', 'dev', NEAR)
  ip('link', 'set', NEAR, 'up')
  ip('-n', SPACE, 'addr', 'add', '10.99.0.2/24', 'dev', FAR)
  ip('-n', SPACE, 'link', 'set', FAR, 'up')
}

async function connected(t: Test): Promise<TcpConnection> {
  const arrived = Promise.withResolvers<TcpConnection>()
  const handlers = { onConnection: arrived.resolve, onFailed: arrived.reject }
  const listener = new TcpListener('10.99.0.1', { port: 0, backlog: 8 }, handlers)
  const peer = spawn('ip', ['netns', 'exec', SPACE, 'python3', '-c', PEER, String(listener.port)])
  t.teardown(async () => {
    listener.close()
    peer.stdin.end()
    await once(peer, 'exit')
  })
  await once(peer.stdout, 'data')
  return await arrived.promise
}

for (const isSending of [false, true])
  t.test(
    `a peer that vanishes is given up in time, ${isSending ? 'also with bytes on their way' : 'though nothing is sent'}`,
    { skip: cannot() },
    async (t) => {
      lay(t)
      const connection = await connected(t)
      setPatience(connection.fd, PATIENCE)
      const beganMs = performance.now()
      const ended = new Promise<void>((resolve) => connection.onceEnded(resolve))
      ip('link', 'set', NEAR, 'down')
      if (isSending) connection.write(Buffer.from('unheard'))
      await ended
      const tookMs = performance.now() - beganMs
      t.ok(tookMs > 1500 && tookMs < 5500, `${Math.round(tookMs)} ms`)
      t.equal(connection.counts().isEstablished, false)
      connection.close()
    },
  )
