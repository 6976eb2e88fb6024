/** Boards that go and come back, on a network of their own. */
import t from 'tap'
import { makeNetwork, noNetworkBecause } from './network.ts'
import { boardOn, took, within } from './network-board.ts'

const skip = noNetworkBecause() ?? false

t.test('B.peers a board whose plug is pulled is gone, and comes back', { skip, timeout: 100_000 }, async (t) => {
  const network = makeNetwork(t)
  const one = await boardOn(t, network.machine('10.77.0.1'))
  const machine = network.machine('10.77.0.4')
  const guest = await boardOn(t, machine, { name: 'Guest' })
  const here = async () => (await one.others()).some(({ name }) => name === 'Guest')
  within(t, 8000, await took(15_000, here), 'there')
  machine.plug(false)
  within(t, 15_000, await took(20_000, async () => !(await here())), 'gone')
  machine.plug(true)
  within(t, 15_000, await took(25_000, here), 'back')
  await guest.stop()
  within(t, 10_000, await took(15_000, async () => !(await here())), 'gone when it stops')
})

t.test(
  'B.peers a board that asks for a password is there all the same, and writes nobody down',
  { skip, timeout: 100_000 },
  async (t) => {
    const network = makeNetwork(t)
    const one = await boardOn(t, network.machine('10.77.0.1'))
    const two = await boardOn(t, network.machine('10.77.0.2'))
    within(t, 15_000, await took(15_000, async () => (await one.others()).length === 1), 'there')
    await two.curl('/api/password', '--data', 'password=correct horse')
    const setAt = Date.now()
    const hasAnswered = async () => (await one.others()).some((peer) => (peer.last_answer_at ?? 0) > setAt)
    within(t, 10_000, await took(15_000, hasAnswered), 'answers')
    t.match(await one.others(), [{ state: 'alive' }])
    const journal = await two.curl('/api/journal', '--user', 'admin:correct horse')
    t.notMatch(journal, /refused/)
    await two.curl('/api/password', '--user', 'admin:correct horse', '--data', 'password=')
  },
)
