import t from 'tap'
import { interfacesNow, reachableAddresses } from '../../net/address.ts'

t.test('a process without a free file descriptor gets the last known interfaces', async (t) => {
  const eth0 = [
    {
      address: '10.0.0.1',
      netmask: '255.0.0.0',
      family: 'IPv4' as const,
      mac: '',
      internal: false,
      cidr: '10.0.0.1/8',
    },
  ]
  t.same(
    interfacesNow(() => ({ eth0 })),
    { eth0 },
  )
  const none = () => {
    throw new Error('uv_interface_addresses returned Unknown system error 24')
  }
  t.same(interfacesNow(none), { eth0 })
  t.same(Object.keys(interfacesNow(() => ({}))), [])
  t.ok(Array.isArray(reachableAddresses()))
})
