/** TypeScript interface of the notify addon: reports the daemon's state to systemd. */
import { loadAddon } from '../load.ts'

interface NotifyAddon {
  send(socketPath: string, state: string): void
}

let addon: NotifyAddon | undefined

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
  addon ??= loadAddon('notify') as NotifyAddon
  addon.send(path, state)
  return true
}
