/** TypeScript interface of the process addon: reports the daemon's state to systemd, gives free memory back. */
import { loadAddon } from '../load.ts'

interface ProcessAddon {
  send(socketPath: string, state: string): void
  trim(): boolean
}

let addon: ProcessAddon | undefined

/**
 * Sends lines such as `READY=1` or `STATUS=...` to the socket in NOTIFY_SOCKET (a path, or abstract with a leading @).
 * Waits at most 100 ms for room in the receiver's queue.
 * @param path the socket, for a process that removes NOTIFY_SOCKET from the environment to hide it from its children
 * @returns false if there is no socket: not run by systemd
 * @throws Error with code, errno and syscall if the socket refuses
 * @source sd_notify(3)
 */
export function notify(state: string, path = process.env.NOTIFY_SOCKET): boolean {
  if (path === undefined || path === '') return false
  addon ??= loadAddon('process') as ProcessAddon
  addon.send(path, state)
  return true
}

/**
 * Returns the free pages of the C library's heaps to the system: by itself it returns only those at the end of a heap.
 * Takes a millisecond for some ten MB.
 * @returns whether there were any
 * @source malloc_trim(3)
 */
export function trimMemory(): boolean {
  addon ??= loadAddon('process') as ProcessAddon
  return addon.trim()
}
