/** A TCP port that belongs to a line: taken or refused with a sentence, and given back with every client on it. */
import type { Server } from 'node:net'
import { Fault } from '#kit/fault.ts'

/** Resolves when the server listens. @throws Fault `tcp_port_taken` */
export async function listening(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // Stays for good: a connection that cannot be accepted (no memory, no descriptor) comes here too, and is only that one's loss.
    server.on('error', (error: NodeJS.ErrnoException) => {
      const sentence = `TCP port ${port} cannot be opened for this line (${error.code ?? error.message}).`
      reject(new Fault('tcp_port_taken', sentence, { cause: error }))
    })
    server.listen(port, host, resolve)
  })
}

/** Accepts nobody any more, lets every client go, and resolves when the last is gone. */
export async function closed(server: Server, letClientsGo: () => void): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    letClientsGo()
  })
}
