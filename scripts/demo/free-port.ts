/** Free TCP ports. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** Reachable from this machine only. */
export const LOOPBACK = '127.0.0.1'

/**
 * @param host address to listen on
 * @param port the preferred one, 0 for any
 * @returns the free port, null if it is taken or the address does not exist here
 */
export async function freePort(host: string, port: number): Promise<number | null> {
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  } catch {
    return null
  } finally {
    server.close()
  }
}

/** The preferred port, or any other free one. @throws Error if the address has none */
export async function wantedOrFree(host: string, port: number): Promise<number> {
  const found = (await freePort(host, port)) ?? (await freePort(host, 0))
  if (found === null) throw new Error(`there is no free TCP port at ${host}`)
  return found
}
