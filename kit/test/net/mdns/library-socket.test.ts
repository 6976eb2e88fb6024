/** Tests of net/mdns/library.ts. */
import t from 'tap'
import { fakeClock } from '../../../clock-fake.ts'
import { LibrarySocket } from '../../../net/mdns/library.ts'
import { openMessage } from '../../../net/mdns/message.ts'
import { chooseLinks } from '../../../net/mdns/sockets.ts'
import { fakeNetwork } from './fake-network.ts'
import { announced, query } from './messages.ts'

const KIND = '_plantroom._tcp.local'
const links = chooseLinks(
  fakeNetwork()
    .worldOf({ eth0: ['10.0.1.2'], eth1: ['10.0.2.2'] })
    .interfaces(),
  '',
)

function socketOf(chance = 0) {
  const clock = fakeClock()
  const sent: string[] = []
  const send = ({ name }: { name: string }) => void sent.push(name)
  const socket = new LibrarySocket({
    clock,
    links,
    kind: KIND,
    host: 'hall.local',
    send,
    chance: () => chance,
  })
  const say = (bytes: Uint8Array) =>
    new Promise<void>((done) => socket.send(bytes, 0, bytes.length, 5353, '224.0.0.251', done))
  return { clock, sent, socket, say }
}

t.test('an answer is sent on every link, after a short random delay', async (t) => {
  const { clock, sent, say } = socketOf(0.5)
  void say(announced({ id: 'a' }))
  clock.advance(69)
  t.same(sent, [])
  clock.advance(1)
  t.same(sent, ['eth0', 'eth1'])
})

t.test('the same answer is sent once a second however often it is asked for', async (t) => {
  const { clock, sent, say } = socketOf()
  for (let count = 0; count < 200; count++) void say(announced({ id: 'a' }))
  clock.advance(999)
  t.equal(sent.length, 2)
  void say(announced({ id: 'a' }))
  clock.advance(1)
  void say(announced({ id: 'a' }))
  clock.advance(20)
  t.equal(sent.length, 4)
})

t.test('different answers are held and remembered up to a limit', async (t) => {
  const { clock, sent, say } = socketOf()
  for (let count = 0; count < 1000; count++) void say(announced({ id: `a${count}` }))
  clock.advance(20)
  t.equal(sent.length, 64)
})

t.test('a farewell is sent at once', async (t) => {
  const { sent, say } = socketOf()
  await say(announced({ id: 'a', ttlS: 0 }))
  t.same(sent, ['eth0', 'eth1'])
})

t.test(
  'RFC 6762 10.1 after a farewell no answer follows that was held back, and a new announcement is sent',
  async (t) => {
    const { clock, sent, say } = socketOf()
    const held = say(announced({ id: 'a' }))
    await say(announced({ id: 'a', ttlS: 0 }))
    await held
    clock.advance(500)
    t.same(sent, ['eth0', 'eth1'], 'the farewell alone')
    void say(announced({ id: 'a' }))
    clock.advance(20)
    t.equal(sent.length, 4)
  },
)

t.test('a question is skipped if somebody on the link has just asked it', async (t) => {
  const { clock, sent, socket, say } = socketOf()
  const bytes = query([KIND])
  const message = openMessage(bytes, 64)
  const [eth0] = links
  if (!message || !eth0) throw new Error('no message or link')
  await say(bytes)
  await say(bytes)
  t.same(sent.splice(0), ['eth0', 'eth1', 'eth0', 'eth1'], 'not while nobody is known')
  socket.spareMs = 5000
  clock.advance(6000)
  socket.hear(bytes, { address: '10.0.1.9', port: 5353 }, { message, link: eth0, asksForOurs: true })
  await say(bytes)
  t.same(sent.splice(0), ['eth1'])
  clock.advance(6000)
  await say(bytes)
  t.same(sent, ['eth0', 'eth1'])
})

t.test('nothing is received or sent once it is closed', async (t) => {
  const { clock, sent, socket, say } = socketOf()
  void say(announced({ id: 'a' }))
  await new Promise<void>((closed) => socket.close(closed))
  clock.advance(1000)
  await say(announced({ id: 'b' }))
  t.same(sent, [])
  t.equal(clock.pending(), 0)
})
