import t from 'tap'
import { silentLog } from '#kit/log.ts'
import { createPasswordCheck, hashPassword, machineSecrets } from '../../io/people.ts'

t.test('a password is stored as an argon2id string with its salt, and verifies', async (t) => {
  const { hash, salt } = await hashPassword('open sesame')
  t.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  t.ok(hash.includes(`$${salt}$`) && salt.length === 22)
  const { verify } = createPasswordCheck(silentLog)
  t.strictSame(await Promise.all([verify('open sesame', hash), verify('Open sesame', hash)]), [true, false])
  t.equal(await verify('open sesame', undefined), false)
})

t.test('a hash that already matches this password is kept, another or a damaged one is not', async (t) => {
  const [one, other] = [await hashPassword('open sesame'), await hashPassword('close sesame')]
  t.same(await hashPassword('open sesame', ['damaged', other.hash, one.hash]), one)
  t.notMatch((await hashPassword('another', [one.hash])).hash, one.hash)
})

t.test('an account whose hash is damaged refuses like any other, and the log says so', async (t) => {
  const said: string[] = []
  const log = { ...silentLog, error: (event: string) => void said.push(event) }
  const { verify } = createPasswordCheck(log)
  const startMs = performance.now()
  t.equal(await verify('x', 'hash of x'), false)
  t.ok(performance.now() - startMs > 2, 'it takes as long as a password does')
  t.strictSame(said, ['bad_password_hash'])
})

t.test('an empty text, and one longer than anybody types, is not a password', async (t) => {
  for (const text of ['', 'x'.repeat(1025)]) await t.rejects(hashPassword(text), { code: 'bad_password' })
})

t.test('random bytes differ, digests do not', (t) => {
  t.notSame(machineSecrets.randomBytes(16), machineSecrets.randomBytes(16))
  t.equal(machineSecrets.digest('a'), machineSecrets.digest('a'))
  t.notMatch(machineSecrets.digest('a'), /^a/)
  t.end()
})
