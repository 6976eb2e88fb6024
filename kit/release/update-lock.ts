/** One update at a time: a lock for the command by hand, the button, the signal and the window alike. */
import { once } from 'node:events'
import { constants } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { Fault } from '../pure/fault.ts'
import { lockState, type StateLock } from '../run/state-folder.ts'

/** Beside `releases`. Only whoever may write there can hold the lock; everybody may see whether somebody does. */
const SOCKET = '.update.sock'

/**
 * Locks the releases of a folder for this process; the kernel releases it with the process, however that ends. While it
 * is held it keeps the process alive.
 * @throws Fault `update_running` if an update runs already; errors of the disk
 */
export async function lockUpdates(root: string): Promise<{ release(): void }> {
  const lock = heldOf(root)
  const folder = await open(root, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    // Left by one that was killed.
    await rm(join(root, SOCKET), { force: true })
    const server = createServer((socket) => void socket.destroy())
    server.listen({ path: shortPath(folder), writableAll: true })
    await once(server, 'listening')
    return {
      release() {
        // Removes the socket by the same path.
        server.close(() => void folder.close())
        lock.release()
      },
    }
  } catch (cause) {
    await folder.close()
    lock.release()
    throw cause
  }
}

function heldOf(root: string): StateLock {
  try {
    return lockState(root)
  } catch (fault) {
    const { cause, code } = fault as Fault
    if (code === 'state_locked') throw new Fault('update_running', 'an update is running already', { cause: fault })
    throw (cause as NodeJS.ErrnoException | undefined)?.syscall === undefined ? fault : cause
  }
}

/** Whether an update of the releases of a folder runs now, whoever started it. */
export async function isUpdating(root: string): Promise<boolean> {
  const folder = await open(root, constants.O_RDONLY | constants.O_DIRECTORY)
  const socket = connect({ path: shortPath(folder) })
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    // Others, such as EAGAIN, come from one that is there and too busy to answer.
    return !['ENOENT', 'ECONNREFUSED'].includes((error as NodeJS.ErrnoException).code ?? '')
  } finally {
    socket.destroy()
    await folder.close()
  }
}

/** Names of sockets have at most 107 bytes, and those of folders 4095. @source unix(7) */
function shortPath({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}/${SOCKET}`
}
