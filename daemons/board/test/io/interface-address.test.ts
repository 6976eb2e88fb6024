import type { NetworkInterfaceInfo } from 'node:os'
import t from 'tap'
import { interfaceAddress } from '../../io/interfaces.ts'

const one = (family: 'IPv4' | 'IPv6', address: string) => ({ family, address }) as NetworkInterfaceInfo
const list = { eth0: [one('IPv6', 'fe80::1'), one('IPv4', '10.20.4.20')], eth1: [one('IPv6', 'fe80::2')] }

t.test('the named interface, or the one with the default route, gives its IPv4 address', async (t) => {
  t.equal(interfaceAddress('eth0', list), '10.20.4.20')
  t.equal(
    interfaceAddress('', list, () => 'eth0'),
    '10.20.4.20',
  )
  t.equal(interfaceAddress('lo'), '127.0.0.1')
})

t.test('an interface without an address, or a missing one, is named', async (t) => {
  t.throws(() => interfaceAddress('eth1', list), { code: 'no_interface', message: /eth1 has no IPv4 address/ })
  t.throws(() => interfaceAddress('eth9', list), { code: 'no_interface', message: /eth9/ })
  t.throws(() => interfaceAddress('', list, () => undefined), { code: 'no_interface', message: /no network/ })
})
