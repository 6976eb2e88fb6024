/** Tests of core/sound/sound.ts. */
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { createLastAddresses, hasMoved, pathAddresses } from '../../../core/sound/sound.ts'

function addressOf(there: Readonly<Record<string, string>>) {
  return (name: string): string => {
    const address = there[name]
    if (address === undefined) throw new Fault('no_interface', `The network interface ${name} has no IPv4 address.`)
    return address
  }
}

t.test('ST 2022-7 one of two networks is enough, whichever it is', async (t) => {
  const names = ['eth0', 'eth1']
  t.same(pathAddresses(names, addressOf({ eth0: '10.20.4.12', eth1: '10.21.4.12' })), ['10.20.4.12', '10.21.4.12'])
  t.same(pathAddresses(names, addressOf({ eth0: '10.20.4.12' })), ['10.20.4.12', null])
  t.same(pathAddresses(names, addressOf({ eth1: '10.21.4.12' })), [null, '10.21.4.12'])
  t.throws(() => pathAddresses(names, addressOf({})), { code: 'no_interface', message: /eth0/ })
  t.throws(() => pathAddresses(['eth0'], addressOf({ eth1: '10.21.4.12' })), { code: 'no_interface' })
})

t.test('a fault that is not a missing network is passed on', async (t) => {
  const broken = () => {
    throw new TypeError('broken')
  }
  t.throws(() => pathAddresses(['eth0', 'eth1'], broken), TypeError)
})

t.test('a network that went is waited for; a path moves to one that came, or to a new address', async (t) => {
  const both = ['10.20.4.12', '10.21.4.12']
  t.equal(hasMoved(both, both), false)
  t.equal(hasMoved(both, ['10.20.4.12', null]), false)
  t.equal(hasMoved(both, [null, '10.21.4.12']), false)
  t.equal(hasMoved(['10.20.4.12', null], both), true)
  t.equal(hasMoved(both, ['10.20.4.12', '10.21.4.13']), true)
})

t.test('a path keeps its address while its network is away, and has none before the network first came', async (t) => {
  const last = createLastAddresses()
  t.same(last(['10.20.4.12', null]), ['10.20.4.12', null])
  t.same(last(['10.20.4.12', '10.21.4.12']), ['10.20.4.12', '10.21.4.12'])
  t.same(last([null, '10.21.4.12']), ['10.20.4.12', '10.21.4.12'])
  t.same(last(['10.20.4.13', null]), ['10.20.4.13', '10.21.4.12'])
})
