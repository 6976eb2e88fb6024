/** What bonjour-service remembers of what it hears. */
import t from 'tap'
import { fakeClock } from '../../../clock-fake.ts'
import { DAEMON, type HeardService, LibrarySocket, openLibrary } from '../../../net/mdns/library.ts'
import { openMessage } from '../../../net/mdns/message.ts'
import { chooseLinks } from '../../../net/mdns/sockets.ts'
import { houseRows } from '../../../pure/memory-plan.ts'
import { heapBytesOf, rowOf } from '../../heap.ts'
import { fakeNetwork } from './fake-network.ts'
import { announced, nameOf } from './messages.ts'

const FROM = { address: '10.0.1.66', port: 5353 }
const links = chooseLinks(
  fakeNetwork()
    .worldOf({ eth0: ['10.0.1.2'] })
    .interfaces(),
  '',
)

/** A library that browses, and gets messages from the test. */
async function listening() {
  const [link] = links
  const heard: HeardService[] = []
  const nothing = { clock: fakeClock(), links, host: 'hall.local', kind: '_plantroom._tcp.local' }
  const socket = new LibrarySocket({ ...nothing, send: () => undefined, chance: () => 0 })
  const library = await openLibrary(socket, DAEMON, () => undefined)
  const find = () => library.find({ links, onHeard: (one) => void heard.push(one), onGoodbye: () => undefined })
  find()
  function say(bytes: Uint8Array): void {
    const message = openMessage(bytes, 64)
    if (link && message) socket.hear(bytes, FROM, { link, message, asksForOurs: false })
  }
  return { library, heard, find, say }
}

/** The name of the service type is at the start of the first record, and all others point to it. @source RFC 1035, 4.1.4 */
const KIND_AT = Buffer.of(0xc0, 12)
const KIND = nameOf('_plantroom._tcp.local')

/** As many services as fit into one message of 64 records, each as short as possible, with this text. @param count makes their names unique */
function crowd(count: number, text: (at: number) => Buffer): Buffer {
  const head = Buffer.from([0, 0, 0x84, 0, 0, 0, 0, 63, 0, 0, 0, 0])
  let bytes = head
  const record = (name: Uint8Array, type: number, data: Uint8Array) =>
    Buffer.concat([name, Buffer.of(0, type, 0, 1, 0, 0, 0, 100, data.length >> 8, data.length & 255), data])
  for (let at = 0; at < 21; at++) {
    const label = Buffer.from((count * 21 + at).toString(36))
    const target = Buffer.concat([Buffer.of(label.length), label, KIND_AT])
    const pointer = record(at === 0 ? KIND : KIND_AT, 12, target)
    const nameAt = bytes.length + pointer.length - target.length
    const name = Buffer.of(0xc0 | (nameAt >> 8), nameAt & 255)
    // A port of 0: not one of ours, and remembered like the others.
    const place = record(name, 33, Buffer.of(0, 0, 0, 0, 0, at % 2, 0))
    bytes = Buffer.concat([bytes, pointer, place, record(name, 16, text(at))])
  }
  return bytes
}

const said = (text: string) => Buffer.concat([Buffer.of(text.length), Buffer.from(text)])
const texts: [what: string, messages: number, text: (at: number) => Buffer][] = [
  ['nothing said', 200, () => Buffer.of(0)],
  ['keys that are numbers', 200, (at) => said(`${999 - at}=1`)],
  ['many keys', 40, () => Buffer.concat(Array.from({ length: 80 }, (_, at) => said(at.toString(36))))],
]

t.test('whatever is announced, the remembered part takes no more than its row says', async (t) => {
  const { allBytes } = rowOf(houseRows(), 'what mDNS has heard and said')
  for (const [what, messages, text] of texts) {
    const said = Array.from({ length: messages }, (_, count) => crowd(count, text))
    const bytes = await heapBytesOf(async () => {
      const { library, say } = await listening()
      for (const message of said) say(message)
      return library
    })
    t.comment(`${what}: ${bytes}`)
    t.ok(bytes <= allBytes, `${what}: ${bytes}`)
  }
})

t.test('nor over several rounds, of which the one before is remembered too', async (t) => {
  const { allBytes } = rowOf(houseRows(), 'what mDNS has heard and said')
  for (const [what, , text] of texts) {
    let count = 0
    const bytes = await heapBytesOf(async () => {
      const { library, find, say } = await listening()
      for (let round = 0; round < 4; round++) {
        for (let left = 32_000; left > 0; count++) {
          const message = crowd(count, text)
          left -= message.length
          if (left > 0) say(message)
        }
        if (round < 3) find()
      }
      return library
    })
    t.comment(`${what}: ${bytes}`)
    t.ok(bytes <= allBytes, `${what}: ${bytes}`)
  }
})

t.test('a service announced again after the others were forgotten is reported again', async (t) => {
  const { heard, say } = await listening()
  const hall = announced({ id: 'hall', address: FROM.address })
  say(hall)
  say(hall)
  t.equal(heard.length, 1, 'once a round')
  for (let count = 0; count < 60; count++) say(crowd(count, () => Buffer.of(0)))
  say(hall)
  t.equal(heard.filter(({ id }) => id.startsWith('hall.')).length, 2)
})
