/** A system that receives events: the target of the demo's webhook. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Sink {
  url: string
  close(): void
}

/** Listens on a free port of loopback and answers 204 to everything. */
export async function openSink(): Promise<Sink> {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(204).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/events`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
