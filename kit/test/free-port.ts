/** TCP ports for tests, and turns of tests that would hear each other. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ListenOptions, type Server } from 'node:net'
import type { Owner } from './running-daemon.ts'

/**
 * Below the kernel's range for connections and for servers that take any port (32768 to 60999), so that nobody else
 * takes the port before the daemon listens on it.
 */
const FIRST = 20_000
const LAST = 32_767
const MOST_TRIES = 1000

/** A free TCP port. No other test on this machine gets it while this process lives. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const port = randomInt(FIRST, LAST + 1)
    // An abstract socket: it disappears with the process that has it.
    const claim = await listening({ path: `\0plantroom-test-port-${port}` })
    if (claim === undefined) continue
    claim.unref()
    const server = await listening({ port })
    if (server === undefined) continue
    server.close()
    await once(server, 'close')
    return port
  }
  throw new Error(`no free TCP port of ${FIRST} to ${LAST} in ${MOST_TRIES} tries`)
}

const TURN_PERIOD_MS = 50

/** Waits until no other test on this machine has this turn, and has it until the test ends. */
export async function turnOf(t: Owner, name: string): Promise<void> {
  for (;;) {
    // An abstract socket is of the network namespace: what cannot hear each other need not wait for each other.
    const claim = await listening({ path: `\0plantroom-test-turn-${name}` })
    if (claim !== undefined) return t.teardown(() => void claim.close())
    await new Promise((resolve) => setTimeout(resolve, TURN_PERIOD_MS))
  }
}

/** Undefined if it is taken. */
async function listening(on: ListenOptions): Promise<Server | undefined> {
  const server = createServer().listen(on)
  try {
    await once(server, 'listening')
    return server
  } catch {
    return undefined
  }
}
