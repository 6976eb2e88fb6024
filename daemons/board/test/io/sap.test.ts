/** Tests of io/sap.ts: real sockets on the loopback interface. */
import { readdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { silentLog } from '#kit/log.ts'
import { until } from '#kit/test/until.ts'
import { StreamBook } from '../../core/streams/book.ts'
import { streamLink } from '../../io/interfaces.ts'
import { createSapAnnouncer, createSapListener, openSapSpeaker } from '../../io/sap.ts'
import { writeSap } from '../../wire/streams/sap.ts'
import { dante } from '../wire/streams/wild-sdp.ts'

const common = { clock: systemClock, log: silentLog, recheckMs: 100, link: () => streamLink('lo') }
/** Others can announce on this machine too. */
const NAME = `Loop ${process.pid}`
const sdpOf = (version: number, name = NAME) =>
  dante.replace('1423986 1423994', `${process.pid} ${version}`).replace('STAGE-BOX-04 : 2', name)

async function listening(t: Test) {
  const bounds = { most: 64, perSender: 64, newPerSecond: 500 }
  const book = new StreamBook({ clock: systemClock, bounds, onChange: () => {} })
  const listener = createSapListener({ ...common, book })
  await listener.start()
  t.teardown(async () => {
    book.close()
    await listener.stop()
  })
  const names = () => book.list().flatMap(({ name }) => (name.startsWith(NAME) ? [name] : []))
  return { book, listener, names }
}

t.test('RFC 2974 a stream is heard at once, followed when it changes, and gone when it is withdrawn', async (t) => {
  const { book, names } = await listening(t)
  const now = { sdp: sdpOf(1) }
  const describe = () => ({ sdp: now.sdp, origin: '127.0.0.1' })
  const announcer = createSapAnnouncer({ ...common, everyMs: 30_000, ttl: 1, describe, onChange: () => {} })
  await announcer.start()
  await until('the stream is heard', () => names().length === 1)
  t.match(announcer.view(), { on: true, count: 1 })
  const [stream] = book.list().filter(({ name }) => name === NAME)
  t.match(stream, { heard_by: ['sap'], mcast: '239.65.20.154', sdp: sdpOf(1) })
  now.sdp = sdpOf(2, `${NAME} new`)
  announcer.changed()
  await until('the change is heard', () => names()[0] === `${NAME} new`)
  await announcer.stop()
  await until('the farewell is heard', () => names().length === 0)
  t.match(announcer.view(), { on: false })
})

t.test('rubbish is counted and does no harm', async (t) => {
  const { listener, names } = await listening(t)
  const speaker = await openSapSpeaker('127.0.0.1', 1, () => {})
  for (const bytes of [Buffer.from('x'), Buffer.alloc(300, 0x21), Buffer.from([0x20, 0, 1, 2, 10, 0, 0, 7])])
    speaker.send(bytes)
  await until('all are counted', () => listener.counts().malformed >= 2 && listener.counts().notRead >= 1)
  speaker.close()
  t.same(names(), [])
})

t.test('an interface that does not exist yet is waited for', async (t) => {
  const world = { link: undefined as ReturnType<typeof streamLink> }
  const describe = () => ({ sdp: sdpOf(1), origin: '127.0.0.1' })
  const options = { ...common, link: () => world.link, everyMs: 30_000, ttl: 1, describe, onChange: () => {} }
  const announcer = createSapAnnouncer(options)
  await announcer.start()
  t.match(announcer.view(), { on: false, count: 0 })
  world.link = streamLink('lo')
  await until('it is announced', () => announcer.view().count === 1)
  t.match(announcer.view(), { on: true })
  await announcer.stop()
})

t.test('a thousand forged announcements at once do not hide a stream that is announced', async (t) => {
  const { book, listener, names } = await listening(t)
  const forger = await openSapSpeaker('127.0.0.1', 1, () => {})
  const describe = () => ({ sdp: sdpOf(1), origin: '127.0.0.1' })
  const announcer = createSapAnnouncer({ ...common, everyMs: 200, ttl: 1, describe, onChange: () => {} })
  await announcer.start()
  for (let round = 0; round < 10; round++) {
    for (let number = 0; number < 100; number++) {
      const sdp = sdpOf(1, 'Forged').replace(`o=- ${process.pid}`, `o=- ${900_000_000 + round * 100 + number}`)
      forger.send(writeSap({ isDeletion: false, hash: number + 1, origin: '10.9.9.9', sdp }))
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  await until('the flood has come in', () => listener.counts().packets >= 1000)
  t.same(names(), [NAME])
  t.ok(book.size <= 64)
  t.ok(book.refused().sender_full > 0)
  forger.close()
  await announcer.stop()
})

t.test('a speaker can be closed by the handler of its failed send', async (t) => {
  const troubles: Error[] = []
  const speaker = await openSapSpeaker('127.0.0.1', 1, (error) => {
    troubles.push(error)
    if (troubles.length === 2) speaker.close()
  })
  // More than a datagram holds: refused for each of the two groups.
  speaker.send(Buffer.alloc(70_000))
  await until('both are refused', () => troubles.length === 2)
  speaker.close()
  t.match(troubles, [{ code: 'EMSGSIZE' }, { code: 'EMSGSIZE' }])
})

t.test('a speaker that cannot be opened leaves no socket behind, however often it is retried', async (t) => {
  const open = () => readdirSync('/proc/self/fd').length
  const before = open()
  for (let times = 0; times < 20; times++)
    await t.rejects(
      openSapSpeaker('203.0.113.7', 1, () => {}),
      /EADDRNOTAVAIL/,
    )
  await until('all are closed', () => open() < before + 10)
})
