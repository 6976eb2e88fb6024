/** Tests of net/mdns/sockets.ts. */
import t from 'tap'
import { areSameLinks, chooseLinks, linkOf } from '../../../net/mdns/sockets.ts'
import { fakeNetwork, type Machine } from './fake-network.ts'

const machine: Machine = {
  lo: ['127.0.0.1', '::1'],
  eth0: ['10.0.1.2', '10.0.3.2', 'fd00::2'],
  wlan0: ['10.0.2.2'],
  sit0: ['fd01::2'],
}
const links = (wanted: string, given = machine) => chooseLinks(fakeNetwork().worldOf(given).interfaces(), wanted)

t.test('uses every interface with an IPv4 address but the loopback one', async (t) => {
  t.match(links(''), [
    { name: 'eth0', address: '10.0.1.2', addresses: ['10.0.1.2', '10.0.3.2', 'fd00::2'] },
    { name: 'wlan0', address: '10.0.2.2' },
  ])
})

t.test('uses the loopback one if there is no other', async (t) => {
  t.match(links('', { lo: ['127.0.0.1'] }), [{ name: 'lo', address: '127.0.0.1' }])
})

t.test('uses the named one, by name or by one of its addresses; then only that address is announced', async (t) => {
  t.same(
    links('wlan0').map(({ name }) => name),
    ['wlan0'],
  )
  t.match(links('10.0.3.2'), [{ name: 'eth0', address: '10.0.3.2', addresses: ['10.0.3.2'] }])
  t.match(links('fd00::2'), [{ name: 'eth0', address: '10.0.1.2', addresses: ['fd00::2'] }])
  t.same(
    links('lo').map(({ name }) => name),
    ['lo'],
  )
  t.same(links('eth7'), [])
})

t.test('knows what is reached without a router', async (t) => {
  const all = links('')
  t.equal(linkOf(all, '10.0.3.99')?.name, 'eth0')
  t.equal(linkOf(all, '10.0.2.99')?.name, 'wlan0')
  t.equal(linkOf(all, '10.0.4.1'), undefined)
  t.equal(linkOf(all, 'nonsense'), undefined)
})

t.test('a change of any address is a change', async (t) => {
  t.equal(areSameLinks(links(''), links('')), true)
  t.equal(areSameLinks(links(''), links('', { ...machine, wlan0: ['10.0.2.3'] })), false)
  t.equal(areSameLinks(links(''), links('', { ...machine, wlan0: ['10.0.2.2', 'fd02::2'] })), false)
})

t.test('uses at most sixteen interfaces, with eight addresses each', async (t) => {
  const many: Machine = {}
  for (let at = 0; at < 40; at++) many[`eth${at}`] = Array.from({ length: 20 }, (_, host) => `10.0.${at}.${host + 1}`)
  const chosen = links('', many)
  t.equal(chosen.length, 16)
  t.equal(chosen[0]?.addresses.length, 8)
})
