/** TCP ports that nobody has. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** Where nobody but this machine comes in. */
export const LOOPBACK = '127.0.0.1'

/**
 * @param host address to listen on
 * @param port the wanted one, 0 for any
 * @returns the port that was to be had there, null where it is taken or the address is not here
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

/** The wanted port, or any other that is free. @throws Error where the address has none */
export async function wantedOrFree(host: string, port: number): Promise<number> {
  const found = (await freePort(host, port)) ?? (await freePort(host, 0))
  if (found === null) throw new Error(`there is no free TCP port at ${host}`)
  return found
}
