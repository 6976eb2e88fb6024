/** One update at a time on a machine, whoever asks for it: a button, a signal, a timer, a person. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { createServer } from 'node:net'
import { Fault } from '../pure/fault.ts'

/** The lock of an installation. */
export interface UpdateLock {
  release(): void
}

/**
 * Locks the releases of a folder for this process. An abstract socket: it needs no room and no rights on a disk, and the
 * kernel ends it with the process, however that ends. It is of the network namespace, so whatever updates runs in that of
 * the machine. While it is held it keeps the process alive.
 * @throws Fault `update_running` if an update runs already
 */
export async function lockUpdates(root: string): Promise<UpdateLock> {
  const name = createHash('sha256').update(realpathSync(root)).digest('hex').slice(0, 16)
  const server = createServer((socket) => void socket.destroy()).listen({ path: `\0plantroom-update-${name}` })
  try {
    await once(server, 'listening')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw cause
    throw new Fault('update_running', 'an update is running already', { cause })
  }
  return { release: () => void server.close() }
}
