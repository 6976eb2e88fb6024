/**
 * What bonjour-service does on its own, over its own socket: the reasons for the layer between it and the network.
 * A test that fails here after an upgrade says which repair can be removed (docs/decisions/mdns-and-peers.md).
 */
import { EventEmitter } from 'node:events'
import Bonjour, { type Service } from 'bonjour-service'
import t from 'tap'
import { openMessage } from '../../../net/mdns/message.ts'
import { announced, nameOf, query, response } from './messages.ts'

const KIND = '_plantroom._tcp.local'

/** The library, over a socket through which a test sends and receives. */
function libraryAlone() {
  const sent: Buffer[] = []
  const socket = Object.assign(new EventEmitter(), {
    send(bytes: Uint8Array, ...rest: unknown[]) {
      sent.push(Buffer.from(bytes))
      process.nextTick(rest.at(-1) as () => void)
    },
    close() {},
  })
  const settings = { socket, bind: false, multicast: false } as unknown as ConstructorParameters<typeof Bonjour>[0]
  const bonjour = new Bonjour(settings, () => {})
  const say = (bytes: Buffer) =>
    socket.emit('message', bytes, { address: '10.0.1.9', port: 5353, family: 'IPv4', size: bytes.length })
  const publish = () =>
    bonjour.publish({ name: 'Hall', type: 'plantroom', host: 'hall.local', port: 80, txt: { a: 'b' }, probe: false })
  return { bonjour, sent, say, publish }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

function recordsOf(bytes: Buffer | undefined) {
  const message = bytes && openMessage(bytes, 1024)
  return (message?.records ?? []).map(({ type, ttlS, classAt }) => ({
    type,
    ttlS,
    class: bytes?.readUInt16BE(classAt),
  }))
}

t.test('still announces for eight hours, and never with the cache-flush bit', async (t) => {
  const { sent, publish } = libraryAlone()
  publish()
  await settled()
  t.match(recordsOf(sent[0])[0], { type: 12, ttlS: 28_800, class: 1 })
  t.match(recordsOf(sent[0])[1], { type: 33, class: 1 })
})

t.test('still withdraws the service type and the machine along with one daemon', async (t) => {
  const { bonjour, sent, publish } = libraryAlone()
  publish()
  await settled()
  bonjour.unpublishAll(() => {})
  await settled()
  const types = recordsOf(sent.at(-1))
    .filter(({ ttlS }) => ttlS === 0)
    .map(({ type }) => type)
  t.equal(types.filter((type) => type === 12).length, 2)
})

t.test('still lets the loser of a name withdraw the winner', async (t) => {
  const { bonjour, sent, say } = libraryAlone()
  const errors = console.log
  console.log = () => {}
  t.teardown(() => {
    console.log = errors
  })
  bonjour.publish({ name: 'Hall', type: 'plantroom', host: 'b.local', port: 81, txt: {} })
  // It asks within 250 ms, three times.
  while (sent.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  await settled()
  say(announced({ id: 'Hall', host: 'a.local' }))
  await settled()
  t.ok(recordsOf(sent.at(-1)).every(({ ttlS }) => ttlS === 0) && sent.length > 1)
})

t.test(
  'still reports nothing when an address changes or a daemon is heard again, and keeps the first one',
  async (t) => {
    const { bonjour, say } = libraryAlone()
    const events: string[] = []
    const browser = bonjour.find({ type: 'plantroom' }, () => void events.push('up'))
    for (const event of ['down', 'txt-update', 'srv-update'] as const) browser.on(event, () => void events.push(event))
    say(announced({ id: 'a', address: '10.0.1.9' }))
    const [service] = browser.services
    const seen = service?.lastSeen
    await new Promise((resolve) => setTimeout(resolve, 5))
    say(announced({ id: 'a', address: '10.0.1.10' }))
    t.same(events, ['up'])
    t.same([browser.services[0]?.addresses, browser.services[0]?.lastSeen], [['10.0.1.9'], seen])
  },
)

t.test('still answers each question of a message with a message', async (t) => {
  const { sent, say, publish } = libraryAlone()
  publish()
  await settled()
  const before = sent.length
  say(query(new Array(50).fill(KIND)))
  await settled()
  t.equal(sent.length - before, 50)
})

t.test('still remembers everything that is announced, without a limit', async (t) => {
  const { bonjour, say } = libraryAlone()
  const browser = bonjour.find({ type: 'plantroom' })
  for (let count = 0; count < 500; count++) say(announced({ id: `a${count}` }))
  t.equal(browser.services.length, 500)
})

t.test('still takes time that grows with the square of the records of a message', async (t) => {
  const { bonjour, say } = libraryAlone()
  let looked = 0
  bonjour.find({ type: 'plantroom' })
  const data = nameOf(`x.${KIND}`)
  const lower = String.prototype.replace
  String.prototype.replace = function (this: string, ...given: unknown[]) {
    looked++
    return (lower as (...all: unknown[]) => string).apply(this, given)
  } as typeof lower
  t.teardown(() => {
    String.prototype.replace = lower
  })
  say(response(Array.from({ length: 100 }, () => ({ name: KIND, type: 'PTR' as const, ttlS: 9, data }))))
  t.ok(looked > 100 * 100, `${looked} comparisons for 100 records`)
})

t.test('still discards the texts of a daemon that is announced without them', async (t) => {
  const { bonjour, say } = libraryAlone()
  const texts: unknown[] = []
  const hear = (service: Service) => void texts.push(service.txt)
  bonjour.find({ type: 'plantroom' }, hear).on('txt-update', hear)
  const name = `a.${KIND}`
  say(announced({ id: 'a', texts: ['role=serial'] }))
  say(
    response([
      { name: KIND, type: 'PTR', ttlS: 9, data: nameOf(name) },
      { name, type: 'SRV', ttlS: 9, data: Buffer.concat([Buffer.of(0, 0, 0, 0, 0, 80), nameOf('x.local')]) },
    ]),
  )
  t.same(texts, [{ role: 'serial' }, undefined])
})
