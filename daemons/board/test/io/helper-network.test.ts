import t from 'tap'
import { helperNetwork } from '../../io/own-machine.ts'
import { fakeHelper } from '../fake-helper.ts'

t.test('the helper is asked in its own commands', async (t) => {
  const helper = fakeHelper()
  const network = helperNetwork(helper, () => 'eth0')
  await network.setAddress({ ip: '10.20.4.11', prefix: 24, gw: '10.20.4.1' })
  await network.setAddress({ ip: '10.20.4.11', prefix: 24, gw: '' })
  await network.setAddress({ ip: '10.20.4.11', prefix: 24, gw: '', dns: '10.9.0.53, 10.9.0.54' })
  await network.setDhcp()
  t.same(helper.asked, [
    'network static eth0 10.20.4.11/24 10.20.4.1',
    'network static eth0 10.20.4.11/24 -',
    'network static eth0 10.20.4.11/24 - 10.9.0.53,10.9.0.54',
    'network dhcp eth0',
  ])
  t.ok(network.ownAddresses().includes('127.0.0.1'))
})

t.test('a machine without an interface says so', async (t) => {
  const network = helperNetwork(fakeHelper(), () => undefined)
  await t.rejects(network.setDhcp(), { code: 'no_interface' })
})
