import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { freePort } from '#kit/test/free-port.ts'
import { createTimePorts } from '../../io/time-ports.ts'
import { ntpAnswer, ntpQuestion, readNtpAnswer, readNtpQuestion, type TimeSource } from '../../wire/ntp.ts'

const LONG_MS = 60_000
const source: TimeSource = {
  ...{ leap: 0, stratum: 2, rootDelayS: 0, rootDispersionS: 0, reference: new Uint8Array(4), setAtMs: 0 },
}

async function portsOf(host: string, answerMs = LONG_MS) {
  const port = await freePort()
  const ports = createTimePorts({ clock: systemClock, host, port, bufferBytes: 65_536, answerMs })
  return { port, ports }
}

const answerOf = (bytes: Uint8Array) => {
  const question = readNtpQuestion(bytes)
  return question && ntpAnswer(question, source, { receivedMs: 0, sentMs: Date.now() })
}

/** @returns what is answered to the last of these: the others get nothing, and come before it */
async function askAll(t: Test, { host, port, packets }: { host: string; port: number; packets: Uint8Array[] }) {
  const socket = createSocket('udp4')
  t.teardown(() => void socket.close())
  const answers: Uint8Array[] = []
  socket.on('message', (bytes) => answers.push(bytes))
  for (const packet of packets) socket.send(packet, port, host)
  while (answers.length === 0) await once(socket, 'message')
  return answers
}

t.test('a question is answered where it was asked, and noise is not', async (t) => {
  const host = '127.0.9.1'
  const { port, ports } = await portsOf(host)
  const heard: string[] = []
  const socket = await ports.listen((bytes, from) => {
    heard.push(from)
    return answerOf(bytes)
  })
  t.teardown(() => socket.close())
  const nonce = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)
  const packets = [new Uint8Array(0), new Uint8Array(48), new Uint8Array(1400).fill(0x23), ntpQuestion(nonce)]
  const answers = await askAll(t, { host, port, packets })
  t.equal(answers.length, 1)
  t.equal(readNtpAnswer(answers[0] ?? new Uint8Array(), nonce)?.stratum, 2)
  t.match(heard.at(-1), /^127\./)
})

t.test('a port that is taken is told, and whether who has it gives the time', async (t) => {
  const host = '127.0.9.2'
  const { port, ports } = await portsOf(host, 200)
  const other = createTimePorts({ clock: systemClock, host, port, bufferBytes: 65_536, answerMs: 200 })
  const world = { isDumb: true }
  const socket = await ports.listen((bytes) => (world.isDumb ? bytes : answerOf(bytes)))
  await t.rejects(other.listen(answerOf), { code: 'time_port_taken', message: new RegExp(`UDP port ${port}.*chrony`) })
  t.equal(await other.isAnswered(host), false, 'it sends back what it hears')
  world.isDumb = false
  t.equal(
    await createTimePorts({ clock: systemClock, host, port, bufferBytes: 65_536, answerMs: LONG_MS }).isAnswered(host),
    true,
  )
  socket.close()
  t.equal(await other.isAnswered(host), false)
  const again = await other.listen(answerOf)
  again.close()
})

t.test('an address that this machine does not have is refused in a sentence', async (t) => {
  const { ports } = await portsOf('127.0.9.3')
  const away = createTimePorts({ clock: systemClock, host: '192.0.2.1', port: 4123, bufferBytes: 65_536, answerMs: 50 })
  await t.rejects(away.listen(answerOf), { code: 'time_port_refused', message: /EADDRNOTAVAIL.*http\.listen/ })
  t.same(await ports.routeTo('127.0.9.4'), { own: '127.0.0.1', far: '127.0.9.4' })
  t.equal((await ports.routeTo('localhost')).own, '127.0.0.1')
  await t.rejects(ports.routeTo('no-such-host.invalid'), { code: 'camera_unreachable' })
  t.same([ports.isNear('127.0.0.1'), ports.isNear('198.51.100.1'), ports.isNear('none')], [true, false, false])
})
