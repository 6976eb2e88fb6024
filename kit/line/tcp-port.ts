/** A TCP port that belongs to a line: taken or refused with a sentence, and given back with every client on it. */
import type { Server } from 'node:net'
import { Fault } from '#kit/fault.ts'

/** Ports that lines of this process have: two lines may be given the same. */
const own = new Set<number>()

/** Resolves when the server listens. @throws Fault `tcp_port_taken` */
export async function listening(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // Stays for good: a connection that cannot be accepted (no memory, no descriptor) comes here too, and is only that one's loss.
    server.on('error', (error: NodeJS.ErrnoException) => {
      reject(new Fault('tcp_port_taken', sentenceOf(host, port, error), { cause: error }))
    })
    server.listen(port, host, resolve)
  })
  own.add(port)
  server.once('close', () => own.delete(port))
}

/** Who or what is in the way, and what to do. Which program it is may be seen by root alone. */
function sentenceOf(host: string, port: number, { code, message }: NodeJS.ErrnoException): string {
  const head = `TCP port ${port} cannot be opened for this line (${code ?? message})`
  if (code === 'EADDRINUSE' && own.has(port))
    return `${head}: another line of this daemon has it. Give one of the two another port.`
  if (code === 'EADDRINUSE')
    return `${head}: another program has it. Stop that one, or choose another port; \`sudo ss -ltnp sport = :${port}\` names it.`
  if (code === 'EACCES') return `${head}: ports below 1024 need a right that this daemon has not. Choose a higher one.`
  if (code === 'EADDRNOTAVAIL') return `${head}: ${host} is no address of this machine.`
  return `${head}.`
}

/** Accepts nobody any more, lets every client go, and resolves when the last is gone. */
export async function closed(server: Server, letClientsGo: () => void): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    letClientsGo()
  })
}
