/** Tests of a restart that a page waits for: where the board is looked for, and what is said meanwhile. */
import t from 'tap'
import { isLate, placesAfter, waitText } from '../../web/state.ts'

const dhcp = { static_ip: false, ip: '10.20.4.11', hostname: 'ser-lift' }
const fixed = { ...dhcp, static_ip: true }
const byName = { protocol: 'http:', hostname: 'ser-lift.local', port: '' }
const byAddress = { protocol: 'http:', hostname: '10.20.4.11', port: '8080' }

t.test('looks nowhere else if neither address nor name has changed', async (t) => {
  t.same(placesAfter(dhcp, dhcp, byName), [])
  t.same(placesAfter(fixed, fixed, byAddress), [])
  t.same(
    placesAfter({ ...dhcp, ip: '10.20.4.99' }, dhcp, byAddress),
    [],
    'an address that is not switched on does not count',
  )
})

t.test('looks at the new fixed address, and at the name, on the port of this page', async (t) => {
  t.same(placesAfter({ ...fixed, ip: '10.20.4.12' }, fixed, byAddress), [
    'http://10.20.4.12:8080',
    'http://ser-lift.local:8080',
  ])
  t.same(placesAfter(fixed, dhcp, byName), ['http://10.20.4.11'])
})

t.test('looks at the name if DHCP gives an unknown address, or if the name is new', async (t) => {
  t.same(placesAfter(dhcp, fixed, byAddress), ['http://ser-lift.local:8080'])
  t.same(placesAfter({ ...dhcp, hostname: 'roof' }, dhcp, byName), ['http://roof.local'])
  t.same(placesAfter({ ...dhcp, hostname: 'roof' }, dhcp, byAddress), [], 'its address is as before')
  t.same(placesAfter({ ...dhcp, hostname: 'a b/c' }, dhcp, byName), [], 'an invalid name is looked for nowhere')
})

t.test('says how long it takes, and what to do once it takes longer than can be explained', async (t) => {
  const waited = { what: 'Saved.', startedAt: 1, sinceMs: 10_000, aboutS: 20, places: ['http://10.20.4.12'] }
  t.equal(waitText(waited, 14_000), 'The board restarts, about 20\u202fs. 4\u202fs so far.')
  t.equal(isLate(waited, 74_000), false)
  t.equal(isLate(waited, 76_000), true)
  t.match(
    waitText(waited, 76_000),
    /has not come back for 1.min 6.s, and 20.s were expected\. It may be at http:\/\/10\.20\.4\.12\./,
  )
})
