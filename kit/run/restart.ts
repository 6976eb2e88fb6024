/** A process that begins anew in its own place: same id, same parent, same terminal, nothing else of before. */
import { argv, env, execArgv, execPath, execve } from 'node:process'

/** How a daemon begins anew. */
export interface Restart {
  /** For the log, one word or two. */
  reason: string
  /** Further arguments, behind those there are; where an argument can stand once, the last one counts. */
  args?: readonly string[]
}

/** What a process is replaced by. */
export interface NextProgram {
  file: string
  argv: string[]
  env: Record<string, string>
}

/**
 * The program that a restart runs: this one, as it lies on the disk now.
 * @param notifySocket what NOTIFY_SOCKET was before it was taken out of the environment; empty where there was none
 */
export function nextProgram(how: Restart, notifySocket: string): NextProgram {
  const known = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return {
    file: execPath,
    argv: [execPath, ...execArgv, ...argv.slice(1), ...(how.args ?? [])],
    env: { ...Object.fromEntries(known), ...(notifySocket === '' ? {} : { NOTIFY_SOCKET: notifySocket }) },
  }
}

/**
 * Replaces this process. Node opens every descriptor close-on-exec, so sockets, files and locks are let go by the kernel
 * in the same instant; what was written before is in its hands. Where execve(2) fails, Node ends by SIGABRT, and systemd
 * starts the daemon again. Measured with Node 24.21: docs/decisions/board-settings-and-restart.md.
 */
export function replaceProcess({ file, argv, env }: NextProgram): never {
  // Typed as absent for the sake of Windows.
  if (!execve) throw new Error('a process cannot be replaced on this system')
  return execve(file, argv, env)
}
