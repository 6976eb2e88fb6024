/** One request to a program that listens on a unix socket. */
import { addon } from './addon.ts'

/** Limits of one request. */
export interface AskOptions {
  /** For connecting, sending and the whole answer together. */
  timeoutMs: number
  /** Longest answer. */
  mostBytes: number
}

/**
 * Sends a line, with a descriptor if one is given, and reads until the other end closes. Runs on libuv's thread pool.
 * @param path of the socket
 * @param line with its newline
 * @param fd duplicated before this returns: the caller may close its own at once
 * @throws Error with code, errno, syscall and path: ENOENT, ECONNREFUSED, EACCES, ETIMEDOUT, EMSGSIZE
 * @source unix(7), SCM_RIGHTS
 */
export function askWithFd(path: string, line: string, fd: number | undefined, options: AskOptions): Promise<string> {
  return addon.ask(path, line, fd ?? -1, options.timeoutMs, options.mostBytes)
}
