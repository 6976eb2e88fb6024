/** Tests of what the page says of users and keys. */
import t from 'tap'
import type { KeyView } from '../../core/people/keys.ts'
import type { User } from '../../web/api.ts'
import { judgeUsers, keyState, reachText, sortKeys, sortUsers, usedText } from '../../web/users-page.ts'
import { when } from './port-fixture.ts'

const DAY_MS = 86_400_000
const admin: User = { username: 'zoe', role: 'admin', createdAt: 0, isLastAdmin: true, isYou: true }
const viewer: User = { username: 'ann', role: 'viewer', createdAt: 0, isLastAdmin: false, isYou: false }

function key(over: Partial<KeyView> = {}): KeyView {
  const plain: KeyView = {
    id: '1',
    name: 'BMS',
    role: 'viewer',
    ports: null,
    createdAt: 0,
    createdBy: 'zoe',
    expiresAt: null,
    lastUsedAt: null,
    state: 'live',
  }
  return { ...plain, ...over }
}

t.test('puts administrators first, and keys that refused somebody', async (t) => {
  t.same(
    sortUsers([viewer, admin]).map(({ username }) => username),
    ['zoe', 'ann'],
  )
  const expired = key({ name: 'Report', state: 'expired', expiresAt: when.nowMs - 1 })
  t.same(
    sortKeys([key(), expired]).map(({ name }) => name),
    ['Report', 'BMS'],
  )
})

t.test('names a key that has expired, or is about to', async (t) => {
  t.match(judgeUsers([admin, viewer], [key()], when), {
    lit: 'ok',
    sentence: 'zoe is the only one who may change things.',
    why: '1 administrator, 1 viewer, 1 API key.',
  })
  const expired = key({ state: 'expired', expiresAt: when.nowMs - 1 })
  t.match(judgeUsers([admin], [expired], when), { lit: 'warn', sentence: 'BMS has expired.' })
  const soon = key({ expiresAt: when.nowMs + 3 * DAY_MS })
  t.match(judgeUsers([admin], [soon], when), { lit: 'warn', sentence: 'BMS expires in 3\u202fd.' })
})

t.test('says how long a key is good, when it was used and what it reaches', async (t) => {
  t.same(keyState(key(), when), { lit: 'ok', words: 'never expires' })
  t.same(keyState(key({ expiresAt: when.nowMs + 40 * DAY_MS }), when), { lit: 'ok', words: '40\u202fd left' })
  t.match(keyState(key({ state: 'expired', expiresAt: when.nowMs - DAY_MS }), when), { words: 'expired 2031-03-08' })
  t.equal(usedText(key(), when), 'never used')
  t.equal(usedText(key({ lastUsedAt: when.nowMs - 12_000 }), when), 'used 12\u202fs ago')
  t.equal(reachText(key()), 'all lines')
  t.equal(reachText(key({ ports: [] })), 'no line')
  t.equal(reachText(key({ ports: ['/dev/ttyUSB0', '/dev/ttyUSB1'] })), 'ttyUSB0 and ttyUSB1')
})
