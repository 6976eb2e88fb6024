import { join } from 'node:path'
import t from 'tap'
import { verifyPassword } from '#kit/auth/password.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { withDefaults } from '#kit/http/check.ts'
import { silentLog } from '#kit/log.ts'
import { config } from '../../config.ts'
import { firstPassword, openPeople, openUpdateKey } from '../../io/people.ts'

const { http } = withDefaults(JSON.parse(JSON.stringify(config)), {}) as {
  http: Parameters<typeof openPeople>[0]['http']
}

function open(stateFolder: string) {
  return openPeople({ clock: fakeClock(), log: silentLog, stateFolder, http })
}

t.test('the first password is made once, signs in, and only its hash is kept', async (t) => {
  const folder = t.testdir({})
  const { list, users } = await open(folder)
  const password = (await firstPassword(users, '')) ?? ''
  t.match(password, /^[a-z2-9]{20}$/)
  t.ok(await verifyPassword(password, list.find('admin')?.passwordHash))
  t.match(list.all()[0]?.passwordHash, /^\$argon2id\$/)
  t.equal(await firstPassword((await open(folder)).users, ''), undefined)
})

t.test('the first line of a file is taken instead; a file that has none is refused', async (t) => {
  const folder = t.testdir({ good: 'of the integrator\r\nmore', short: 'x\n', a: {}, b: {} })
  const { list, users } = await open(join(folder, 'a'))
  t.equal(await firstPassword(users, join(folder, 'good')), undefined)
  t.ok(await verifyPassword('of the integrator', list.find('admin')?.passwordHash))
  const other = await open(join(folder, 'b'))
  for (const name of ['short', 'missing'])
    await t.rejects(firstPassword(other.users, join(folder, name)), { code: 'bad_password_file' }, name)
})

t.test('the update key is the setting, or the one that was made last, which stays over a restart', async (t) => {
  const folder = t.testdir({})
  const given = await openUpdateKey({ clock: fakeClock(), log: silentLog, stateFolder: folder }, 'of the setting')
  t.same([given.isRight('of the setting'), given.isRight('of the settinG'), given.isRight('')], [true, false, false])
  t.match(given.source(), { from: 'settings' })
  await t.rejects(given.make(), { code: 'key_in_settings' })
  const none = await openUpdateKey({ clock: fakeClock(), log: silentLog, stateFolder: folder }, '')
  t.same([none.isRight(''), none.source().from], [false, 'none'])
  const first = await none.make()
  const second = await none.make()
  const again = await openUpdateKey({ clock: fakeClock(), log: silentLog, stateFolder: folder }, '')
  t.same([again.isRight(first), again.isRight(second), again.source().from], [false, true, 'panel'])
})
