import t from 'tap'
import { checkKey, type Fenced, seesPort } from '../../../core/people/keys.ts'

const all: Fenced = { name: 'key:all', isKey: true }
const one: Fenced = { name: 'key:one', isKey: true, only: ['/dev/ttyUSB0'] }

/** `open`, or the code of the refusal. */
function outcome(caller: Fenced, route: string, params: Record<string, string> = {}): unknown {
  const [method = '', path = ''] = route.split(' ')
  try {
    checkKey(caller, { method, path, params })
    return 'open'
  } catch (fault) {
    return (fault as { code: string }).code
  }
}

const peopleOnly = [
  'GET /api/users',
  'POST /api/users',
  'PATCH /api/users/:username',
  'GET /api/keys',
  'POST /api/keys',
  'DELETE /api/keys/:id',
  'POST /api/me/password',
  'POST /api/logout',
]

t.test('no key manages users or keys, whatever its role', async (t) => {
  for (const route of peopleOnly) {
    t.equal(outcome(all, route), 'not_for_keys', route)
    t.equal(outcome(one, route), 'not_for_keys', route)
  }
})

t.test('a key with a list reaches the ports of its list, by their exact names, and no other port', async (t) => {
  for (const route of [
    'GET /api/ports/:path',
    'PUT /api/ports/:path',
    'POST /api/ports/:path/rest/tx',
    'GET /api/ports/:path/brand/new',
  ]) {
    t.equal(outcome(one, route, { path: '/dev/ttyUSB0' }), 'open')
    for (const path of [
      '/dev/ttyUSB1',
      '/dev/ttyUSB',
      '/dev/ttyUSB00',
      '/dev/serial/by-id/x',
      '/DEV/ttyUSB0',
      '/dev//ttyUSB0',
      '',
    ])
      t.equal(outcome(one, route, { path }), 'not_your_port', path)
    t.equal(outcome(one, route), 'not_your_port')
    t.equal(outcome(all, route, { path: '/dev/ttyUSB1' }), 'open')
  }
})

t.test('a route without a rule is closed to a key with a list', async (t) => {
  for (const route of [
    'GET /api/system',
    'GET /api/system/licences/:text',
    'PATCH /api/system',
    'GET /api/journal',
    'GET /api/brand-new',
    'GET /api/portsx/:path',
    'POST /api/ports',
    'DELETE /metrics',
  ])
    t.equal(outcome(one, route, { path: '/dev/ttyUSB0' }), 'not_for_keys', route)
  for (const route of ['GET /api/system', 'GET /api/journal']) t.equal(outcome(all, route), 'open', route)
})

t.test('a route that filters by the list is open', async (t) => {
  for (const route of ['GET /api/ports', 'GET /ws', 'GET /metrics', 'POST /api/ticket', 'GET /api/me'])
    t.equal(outcome(one, route), 'open', route)
  t.equal(seesPort(one, '/dev/ttyUSB0'), true)
  t.equal(seesPort(one, '/dev/ttyUSB1'), false)
  t.equal(seesPort(one, undefined), false)
  t.equal(seesPort(all, '/dev/ttyUSB1'), true)
  t.equal(seesPort({ only: [] }, '/dev/ttyUSB0'), false)
})
