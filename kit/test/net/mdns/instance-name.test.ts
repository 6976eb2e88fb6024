/** Tests of net/mdns/mdns.ts. */
import t from 'tap'
import { identityHere, instanceName } from '../../../net/mdns/mdns.ts'

const identity = { machineId: '0123456789abcdef0123456789abcdef', hardware: ['02:00:00:00:00:01'], stateFolder: '/a' }

t.test('a daemon has the same name at every start, which reveals nothing of the machine id', async (t) => {
  const name = instanceName('board', identity)
  t.match(name, /^board-[0-9a-f]{10}$/)
  t.equal(name, instanceName('board', { ...identity }))
  t.notOk(name.includes(identity.machineId.slice(0, 6)))
})

t.test('two daemons of one machine, and two copies of one card, have different names', async (t) => {
  const names = [
    instanceName('board', identity),
    instanceName('gateway', identity),
    instanceName('board', { ...identity, stateFolder: '/b' }),
    instanceName('board', { ...identity, hardware: ['02:00:00:00:00:02'] }),
    instanceName('board', { ...identity, machineId: 'f' }),
  ]
  t.equal(new Set(names.map((name) => name.split('-')[1])).size, names.length)
})

t.test('this machine has an identity', async (t) => {
  t.match(instanceName('board', identityHere('/somewhere')), /^board-[0-9a-f]{10}$/)
})
