/** Tests of auth/credentials.ts. */
import t from 'tap'
import { Type } from 'typebox'
import { newBasicPassword, newPassword, userName } from '../../auth/credentials.ts'
import { createCheck } from '../../http/check.ts'
import { cpuMsOf } from '../cpu-time.ts'

const isName = (text: string) => createCheck(userName)(text).faults.length === 0

t.test('accepts names as people in Europe have them', async (t) => {
  for (const name of [
    'a',
    'ada',
    'Jürgen',
    'plant-room.2',
    'Ada Lovelace',
    'ada@example.org',
    'Łukasz',
    'x'.repeat(64),
  ])
    t.equal(isName(name), true, name)
})

t.test('refuses names that hide something, or stand for something else', async (t) => {
  const bad = ['', ' ada', 'ada ', 'a  b', 'x'.repeat(65), '__proto__', 'key:pump', '-x', 'x/y', 'a\nb', 'a\u0000b']
  const lookAlikes = [
    '\u0430dmin',
    'adm\u0131n',
    'admin\u200B',
    '\u202Enimda',
    'ａdmin',
    'adm\u0456n',
    'ad\u0301min',
    '𝐚dmin',
  ]
  for (const name of [...bad, ...lookAlikes]) t.equal(isName(name), false, JSON.stringify(name))
})

t.test('a hostile name is refused in linear time', async (t) => {
  const name = `${'a'.repeat(50_000)}!`
  // It would take a quarter of an hour otherwise.
  const ms = cpuMsOf(() => t.equal(isName(name), false))
  t.ok(ms < 1000, `${ms} ms`)
})

t.test('a password has 8 to 256 characters', async (t) => {
  const check = createCheck(newPassword)
  t.same(
    [7, 8, 256, 257].map((length) => check('x'.repeat(length)).faults.length),
    [1, 0, 0, 1],
  )
  const inBody = createCheck(Type.Object({ password: newPassword }))
  t.same(inBody({ password: 'short' }).faults, [
    {
      field: 'password',
      message: 'is text with 5 characters, expected text of 8 to 256 characters (without control characters)',
    },
  ])
})

t.test('no new password has a control character, for accounts and for Basic alike', async (t) => {
  for (const rule of [newPassword, newBasicPassword]) {
    const check = createCheck(rule)
    for (const code of [0x00, 0x09, 0x0a, 0x1b, 0x1f, 0x7f, 0x85, 0x9f])
      t.equal(check(`long enough${String.fromCharCode(code)}`).faults.length, 1, `U+00${code.toString(16)}`)
    for (const text of ['long enough', 'l\u00f6ng en\u00f6ugh', 'a\u00a0blank of its own', '🔑'.repeat(8)])
      t.same(check(text).faults, [], text)
  }
})
