/** Tests of auth/password.ts. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mock } from 'node:test'
import t from 'tap'
import { deriveArgon2id } from '../../auth/password.ts'
import { until } from '../until.ts'

const quick = { memory: 8, passes: 1, parallelism: 1, tagLength: 32, nonce: Buffer.from('sixteen bytes...') }
const message = Buffer.from('secret')

/** Threads of this process that are below its own priority. @source proc(5), stat: nice is the 19th field */
function nicedThreads(): number {
  const stats = readdirSync('/proc/self/task').map((id) => readFileSync(`/proc/self/task/${id}/stat`, 'utf8'))
  return stats.filter((stat) => Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]) === 5).length
}

t.test('hashes in a thread below the daemon in priority, which ends when nobody has asked for a minute', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const first = await deriveArgon2id({ ...quick, message })
  t.equal(first.length, 32)
  t.same(await deriveArgon2id({ ...quick, message }), first)
  t.equal(nicedThreads(), 1, 'one after the other, one thread')
  mock.timers.tick(59_000)
  await deriveArgon2id({ ...quick, message })
  mock.timers.tick(59_000)
  t.equal(nicedThreads(), 1, 'it was asked meanwhile')
  mock.timers.tick(1000)
  mock.timers.reset()
  await until('the thread has ended', () => nicedThreads() === 0)
  t.same(await deriveArgon2id({ ...quick, message }), first, 'and another begins when it is needed')
})

t.test('starts no more threads than sixteen, and each gets its own hash', async (t) => {
  const messages = Array.from({ length: 40 }, () => randomBytes(8))
  const together = await Promise.all(messages.map((message) => deriveArgon2id({ ...quick, message })))
  t.ok(nicedThreads() <= 16)
  for (const [at, message] of messages.entries())
    t.same(await deriveArgon2id({ ...quick, message }), together[at], 'as by itself')
})

t.test('who asks for what cannot be computed is told, and the next is served', async (t) => {
  await t.rejects(deriveArgon2id({ ...quick, message, passes: 0 }), /passes/)
  t.equal((await deriveArgon2id({ ...quick, message })).length, 32)
})
