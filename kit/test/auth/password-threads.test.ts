/** Tests of auth/password.ts: the threads that hash. */
import { argon2Sync, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import t from 'tap'
import { deriveArgon2id } from '../../auth/password.ts'
import { until } from '../until.ts'

const quick = { memory: 8, passes: 1, parallelism: 1, tagLength: 32, nonce: Buffer.from('sixteen bytes...') }
const slow = { ...quick, memory: 19_456, passes: 2 }
const message = Buffer.from('secret')

/** The niceness of a thread that hashes; this process can already have a lower priority than others. */
const lower = String(Math.min(19, getPriority() + 5))

/** Threads of this process that are below its own priority. @source proc(5), stat: nice is the 19th field */
function nicedThreads(): number {
  return readdirSync('/proc/self/task').filter((id) => niceOf(id) === lower).length
}

function niceOf(id: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]
  } catch {
    return undefined // It has ended since it was listed.
  }
}

t.test('hashes in a thread below the daemon in priority, which ends with its hash', async (t) => {
  let isSeen = false
  const watch = until('a thread computes', () => {
    isSeen ||= nicedThreads() === 1
    return isSeen
  })
  while (!isSeen) t.same(await deriveArgon2id({ ...slow, message }), argon2Sync('argon2id', { ...slow, message }))
  await watch
  await until('the thread has ended', () => nicedThreads() === 0)
})

t.test('no more than sixteen compute at once, and each gets its own hash', async (t) => {
  const messages = Array.from({ length: 40 }, () => randomBytes(8))
  let most = 0
  const together = await Promise.all(
    messages.map(async (message) => {
      const hash = await deriveArgon2id({ ...slow, message, passes: 1 })
      most = Math.max(most, nicedThreads())
      return hash
    }),
  )
  // A thread that has delivered its hash can still be seen while the next one begins.
  t.ok(most < 24, `${most} of 40 at once`)
  for (const [at, message] of messages.entries())
    t.same(together[at], argon2Sync('argon2id', { ...slow, message, passes: 1 }), 'its own')
})

t.test('a hash that cannot be computed is an error for its caller, and the next is served', async (t) => {
  await t.rejects(deriveArgon2id({ ...quick, message, passes: 0 }), /argon2id cannot be computed: .*iteration/)
  t.equal((await deriveArgon2id({ ...quick, message })).length, 32)
})
