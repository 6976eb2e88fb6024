/** Tests of auth/password.ts. */
import t from 'tap'
import { hashPassword, verifyPassword } from '../../auth/password.ts'
import { signInRows } from '../../pure/memory-plan.ts'
import { rowOf } from '../heap.ts'
import { forgetMost, mostResidentMb } from '../process-memory.ts'

t.test('stores a password as an argon2id PHC string with its own salt', async (t) => {
  const [one, other] = await Promise.all([hashPassword('geheim 1'), hashPassword('geheim 1')])
  t.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  t.not(one, other)
  t.equal(await verifyPassword('geheim 1', one), true)
  t.equal(await verifyPassword('geheim 2', one), false)
})

t.test('takes the cost from the stored string, and agrees with the reference program', async (t) => {
  // phc-winner-argon2, src/test.c, argon2id: password "password", salt "somesalt", t=2, m=2^16, p=1.
  const stored = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc'
  t.equal(await verifyPassword('password', stored), true)
  t.equal(await verifyPassword('passworD', stored), false)
})

t.test('is never right for a user that does not exist', async (t) => {
  t.equal(await verifyPassword('', undefined), false)
})

t.test('treats composed and decomposed letters as the same', async (t) => {
  t.equal(await verifyPassword('Zu\u0308rich', await hashPassword('Z\u00fcrich')), true)
})

t.test('refuses stored strings that are damaged or ask for too much', async (t) => {
  const rest = '$c29tZXNhbHRzb21lc2FsdA$RdescudvJCsgt3ub+b7AoYYX'
  const damaged = ['', 'plain', `$argon2i$v=19$m=8,t=1,p=1${rest}`, '$argon2id$v=19$m=8,t=1,p=1$$']
  const greedy = ['m=65537,t=2,p=1', 'm=19456,t=11,p=1', 'm=19456,t=2,p=5', 'm=7,t=2,p=1', 'm=8,t=0,p=1', 'm=8,t=1,p=0']
  for (const stored of [...damaged, ...greedy.map((cost) => `$argon2id$v=19$${cost}${rest}`)])
    await t.rejects(verifyPassword('x', stored), { code: 'bad_password_hash' }, stored)
})

t.test('passwords that are hashed at once take no more than their row says', async (t) => {
  const many = 3
  const rows = signInRows({ workers: 'workers', queue: 'queue', table: 'table', homes: 'homes' })
  const row = rowOf(rows, 'passwords that are being hashed', { workers: many })
  // The costliest that is accepted.
  const stored = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc'
  const beforeMb = forgetMost(process.pid)
  await Promise.all(Array.from({ length: many }, () => verifyPassword('password', stored)))
  const bytes = (mostResidentMb(process.pid) - beforeMb) * 1e6
  t.ok(bytes > 64 * 1_048_576 && bytes < row.allBytes, `${bytes} bytes, of ${row.allBytes}`)
})
