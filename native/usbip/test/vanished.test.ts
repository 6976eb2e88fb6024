/** A peer whose cable is pulled: it says nothing any more, and the connection ends by itself. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { noCables } from '#kit/test/cables.ts'

const PATIENCE = { idleS: 1, intervalS: 1, count: 2, userTimeoutMs: 3000 }
/** Two machines with a cable between them. Neither has another way out: nothing of the test leaves its namespaces. */
const NEAR = `pt-near-${process.pid}`
const FAR = `pt-far-${process.pid}`
const LISTENER = join(import.meta.dirname, 'vanishing-child.ts')
const PEER = `
import socket, sys
peer = socket.create_connection(('10.99.0.1', int(sys.argv[1])))
sys.stdin.read()
`

function ip(...words: string[]): void {
  execFileSync('ip', words, { stdio: 'pipe' })
}

function lay(t: Test): void {
  for (const space of [NEAR, FAR]) {
    ip('netns', 'add', space)
    t.teardown(() => ip('netns', 'del', space))
  }
  ip('-n', NEAR, 'link', 'add', 'cable', 'type', 'veth', 'peer', 'name', 'cable', 'netns', FAR)
  for (const [space, address] of [
    [NEAR, '10.99.0.1/24'],
    [FAR, '10.99.0.2/24'],
  ] as const) {
    ip('-n', space, 'addr', 'add', address, 'dev', 'cable')
    ip('-n', space, 'link', 'set', 'cable', 'up')
  }
}

/** How a connection to a peer that vanished ended. @param text written once the peer is gone */
async function endOfVanished(t: Test, text: string[]): Promise<{ tookMs: number; isEstablished: boolean }> {
  const words = [process.execPath, LISTENER, '10.99.0.1', 'cable', JSON.stringify(PATIENCE), ...text]
  const listener = spawn('ip', ['netns', 'exec', NEAR, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => listener.kill('SIGKILL'))
  const lines = createInterface(listener.stdout)[Symbol.asyncIterator]()
  const { value: port = '' } = await lines.next()
  const peer = spawn('ip', ['netns', 'exec', FAR, 'python3', '-c', PEER, port], {
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  t.teardown(async () => {
    peer.stdin.end()
    await once(peer, 'exit')
  })
  const { value: how = '' } = await lines.next()
  return JSON.parse(how)
}

for (const isSending of [false, true])
  t.test(
    `a peer that vanishes is given up in time, ${isSending ? 'also with bytes on their way' : 'though nothing is sent'}`,
    { skip: noCables() },
    async (t) => {
      lay(t)
      const { tookMs, isEstablished } = await endOfVanished(t, isSending ? ['unheard'] : [])
      // By itself the kernel would wait for a quarter of an hour, or two hours.
      t.ok(tookMs > 1500 && tookMs < 60_000, `${Math.round(tookMs)} ms`)
      t.equal(isEstablished, false)
    },
  )
