/** TCP ports for tests. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ListenOptions, type Server } from 'node:net'

/**
 * Below what the kernel gives to connections and to servers that take any port (32768 to 60999): between the choice here
 * and the daemon that listens, nobody else comes by the same one.
 */
const FIRST = 20_000
const LAST = 32_767
const MOST_TRIES = 1000

/** A TCP port that nobody listens on. No other test of this machine is given it as long as this process lives. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const port = randomInt(FIRST, LAST + 1)
    // A name without a file, which ends with whoever has it.
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

/** Undefined where somebody has it. */
async function listening(on: ListenOptions): Promise<Server | undefined> {
  const server = createServer().listen(on)
  try {
    await once(server, 'listening')
    return server
  } catch {
    return undefined
  }
}
