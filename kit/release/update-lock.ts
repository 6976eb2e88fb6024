/** One update at a time: a lock for the command by hand, the button, the signal and the window alike. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { Fault } from '../pure/fault.ts'

/**
 * Locks the releases of a folder for this process. An abstract socket: it needs no room and no rights on a disk, and the
 * kernel ends it with the process, however that ends. It is of the network namespace, so whatever updates runs in that of
 * the machine. While it is held it keeps the process alive.
 * @throws Fault `update_running` if an update runs already
 */
export async function lockUpdates(root: string): Promise<{ release(): void }> {
  const server = createServer((socket) => void socket.destroy()).listen({ path: nameOf(root) })
  try {
    await once(server, 'listening')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw cause
    throw new Fault('update_running', 'an update is running already', { cause })
  }
  return { release: () => void server.close() }
}

/** Whether an update of the releases of a folder runs now, whoever started it. */
export async function isUpdating(root: string): Promise<boolean> {
  const socket = connect({ path: nameOf(root) })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

function nameOf(root: string): string {
  return `\0plantroom-update-${createHash('sha256').update(realpathSync(root)).digest('hex').slice(0, 16)}`
}
