/** Whether tests may connect network namespaces of their own here. */
import { execFileSync } from 'node:child_process'

/** Why they may not, or false. Root in a container may often create namespaces, but no veth pairs. */
export function noCables(): string | false {
  if (process.geteuid?.() !== 0) return 'network namespaces need root'
  const space = `pt-try-${process.pid}`
  const ip = (...words: string[]) => execFileSync('ip', words, { stdio: 'pipe', timeout: 5000 })
  try {
    ip('netns', 'add', space)
    try {
      ip('-n', space, 'link', 'add', 'plug', 'type', 'veth', 'peer', 'name', 'far')
      return false
    } finally {
      ip('netns', 'del', space)
    }
  } catch (fault) {
    return `no cables between network namespaces: ${(fault as Error).message.split('\n').slice(0, 2).join(': ')}`
  }
}
