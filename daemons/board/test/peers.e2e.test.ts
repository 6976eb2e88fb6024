/** Real boards on their own network. */
import t, { type Test } from 'tap'
import { makeNetwork, type Network, noNetworkBecause } from './network.ts'
import { boardOn, type Peer, took, within } from './network-board.ts'

const skip = noNetworkBecause() ?? false
const sameNames = (peers: Peer[], names: string[]) =>
  JSON.stringify(peers.map(({ name }) => name).sort()) === JSON.stringify([...names].sort())

async function three(t: Test, network: Network) {
  const machines = ['10.77.0.1', '10.77.0.2', '10.77.0.3'].map((address) => network.machine(address))
  const boards = []
  for (const machine of machines) boards.push(await boardOn(t, machine))
  const [one, two, last] = boards
  const [, , lastMachine] = machines
  if (!one || !two || !last || !lastMachine) throw new Error('there are not three boards')
  return { one, two, last, lastMachine }
}

t.test('B.peers three boards', { skip }, async (t) => {
  const network = makeNetwork(t)
  const { one, two, last, lastMachine } = await three(t, network)
  const seen = async () => (await one.others()).length === 2 && (await two.others()).length === 2
  within(t, 5000, await took(10_000, seen), 'all are seen')

  await t.test('are listed with this board first, each with its address', async (t) => {
    const [self, ...others] = await one.peers()
    t.match(self, { self: true, state: 'here', IP: '10.77.0.1', role: 'serial', port: 80 })
    t.same(others.map(({ IP }) => IP).sort(), ['10.77.0.2', '10.77.0.3'])
    for (const peer of others) t.match(peer, { state: 'alive', role: 'serial', port: 80 })
  })

  await t.test(
    'B.authentication.2 a page of a found board is allowed to call, and one of any other machine is not',
    async (t) => {
      const status = async (origin: string) =>
        one.curl('/api/identify', '-o', '/dev/null', '-w', '%{http_code}', '-d', 'on=1', '-H', `Origin: ${origin}`)
      t.equal(await status('http://10.77.0.2'), '200')
      for (const origin of ['http://10.77.0.2:81', 'http://10.77.0.66', 'http://10.77.0.254', 'https://10.77.0.2'])
        t.equal(await status(origin), '403', origin)
    },
  )

  await t.test('one that is renamed is renamed on the others', async (t) => {
    await last.change({ name: 'Boiler room' })
    const renamed = async () => (await one.others()).some(({ name }) => name === 'Boiler room')
    within(t, 15_000, await took(20_000, renamed), 'renamed')
  })

  await t.test('two boards of one name are listed as two', async (t) => {
    await two.change({ name: 'Boiler room' })
    const both = async () => sameNames(await one.others(), ['Boiler room', 'Boiler room'])
    within(t, 15_000, await took(20_000, both), 'both are listed')
  })

  await t.test('one that begins to send names its stream, to itself and to the others', async (t) => {
    const stream = '239.69.20.4:5006'
    await two.change({ role: 'encoder', mcast: '239.69.20.4', port: '5006' })
    const known = async () => (await one.others()).some((peer) => peer.role === 'encoder' && peer.stream === stream)
    within(t, 15_000, await took(20_000, known), 'its stream is known')
    const own = (await two.peers()).find(({ self }) => self)
    t.match(own, { role: 'encoder', stream })
  })

  await t.test('one whose address changes is found there', async (t) => {
    lastMachine.move('10.77.0.33')
    const moved = async () => {
      const [...peers] = await one.others()
      return peers.length === 2 && peers.some(({ IP, state }) => IP === '10.77.0.33' && state === 'alive')
    }
    within(t, 15_000, await took(20_000, moved), 'found at its new address')
  })

  await t.test('one that is killed is absent, and stays on the list', async (t) => {
    await last.stop('SIGKILL')
    const gone = async () => sameNames(await one.present(), ['Boiler room'])
    within(t, 15_000, await took(20_000, gone), 'absent')
    t.ok((await one.others()).some(({ name, state }) => name === 'Boiler room' && state === 'absent'))
  })
})
