/** Finds out which process holds a device. */
import { readFileSync, statSync } from 'node:fs'

/**
 * Process that holds a flock on the file, by /proc/locks; undefined if none does or the kernel does not say. A line
 * there reads `1: FLOCK  ADVISORY  WRITE 1234 00:06:93 0 EOF`: process, device (hex), inode.
 */
export function flockHolder(path: string): number | undefined {
  let inode: number
  let locks: string
  try {
    inode = statSync(path).ino
    locks = readFileSync('/proc/locks', 'utf8')
  } catch {
    return undefined // gone meanwhile, or no /proc: the holder stays unknown
  }
  for (const line of locks.split('\n')) {
    const match = /FLOCK\s+\w+\s+WRITE\s+(\d+)\s+[0-9a-f]+:[0-9a-f]+:(\d+)\s/.exec(line)
    if (match !== null && Number(match[2]) === inode && Number(match[1]) > 0) return Number(match[1])
  }
  return undefined
}
