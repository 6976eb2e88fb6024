/** Boards that leave and come back, on their own network. */
import t from 'tap'
import { makeNetwork, noNetworkBecause } from './network.ts'
import { boardOn, took, within } from './network-board.ts'

const skip = noNetworkBecause() ?? false

t.test('B.peers an unplugged board is absent until it is back, or dismissed', { skip }, async (t) => {
  const network = makeNetwork(t)
  const place = network.machine('10.77.0.1')
  const one = await boardOn(t, place)
  const machine = network.machine('10.77.0.4')
  const guest = await boardOn(t, machine, { name: 'Guest' })
  const stateNow = async () => (await one.others()).find(({ name }) => name === 'Guest')?.state
  const here = async () => (await stateNow()) === 'alive'
  const absent = async () => (await stateNow()) === 'absent'
  within(t, 15_000, await took(20_000, here), 'there')
  const pulledAt = Date.now()
  machine.plug(false)
  within(t, 15_000, await took(20_000, absent), 'absent')
  machine.plug(true)
  within(t, 15_000, await took(25_000, here), 'back')
  await guest.stop()
  within(t, 10_000, await took(15_000, absent), 'absent when it stops')
  const [dead] = await one.others()
  t.ok((dead?.last_answer_at ?? 0) > pulledAt, 'it says when it was last heard')

  await one.stop()
  const again = await boardOn(t, place, { stateFolder: one.stateFolder })
  const remembered = async () => (await again.others())[0]?.state === 'absent'
  within(t, 15_000, await took(20_000, remembered), 'absent after a restart too')
  t.match(await again.others(), [{ id: dead?.id, name: 'Guest', last_answer_at: dead?.last_answer_at }])
  const dismiss = () => again.curl('/api/peers/dismiss', '--data-urlencode', `id=${dead?.id}`)
  t.same(JSON.parse(await dismiss()), { dismissed: dead?.id })
  t.same(await again.others(), [])
  t.match(JSON.parse(await dismiss()), { error: 'unknown_peer' })
})

t.test(
  'B.peers a board that asks for a password is found anyway, and its journal records no refused sign-in',
  { skip },
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
