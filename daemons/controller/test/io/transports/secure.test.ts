/** TLS to gateways: what a connection takes of memory, and that handshakes end in time. What is trusted: gateway-tls.test.ts. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { CLIENT_BYTES, TLS_BYTES } from '#kit/pure/memory-plan.ts'
import { residentMb } from '#kit/test/process-memory.ts'
import { until } from '#kit/test/until.ts'
import { connectSecure } from '../../../io/transports/secure.ts'
import { authority } from '../../core/drivers/gateway/authority.ts'

const never = new AbortController().signal

async function portOf(t: Test, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

t.test('a row of the memory plan holds an encrypted connection', async (t) => {
  const MANY = 300
  const { root, cert, key } = authority()
  const port = await portOf(
    t,
    createTlsServer({ cert, key }, (stream) => stream.on('error', () => {})),
  )
  const tls = { root }
  const open = () => connectSecure({ host: '127.0.0.1', port, tls }, { clock: systemClock, connectMs: 60_000 }, never)
  const streams: TLSSocket[] = []
  t.teardown(() => streams.map((stream) => stream.destroy()))
  for (let n = 0; n < 50; n++) streams.push(await open())
  const beforeMb = residentMb(process.pid)
  for (let n = 0; n < MANY; n++) streams.push(await open())
  // Both ends are in this process.
  const each = ((residentMb(process.pid) - beforeMb) * 1e6) / MANY / 2
  t.comment(`${Math.round(each / 1024)} KiB for one end of a connection`)
  t.ok(each < TLS_BYTES + CLIENT_BYTES)
})

t.test('a handshake that nobody answers ends in time', async (t) => {
  const clock = fakeClock()
  let met = 0
  const port = await portOf(
    t,
    createServer((wire) => {
      // Its first bytes: the handshake has begun.
      wire.once('data', () => met++)
      t.teardown(() => wire.destroy())
    }),
  )
  const tls = { root: authority().root }
  const open = (signal = never) => connectSecure({ host: '127.0.0.1', port, tls }, { clock, connectMs: 3000 }, signal)
  const late = open()
  late.catch(() => {})
  await until('the handshake has begun', () => met === 1)
  clock.advance(3000)
  await t.rejects(late, { code: 'device_unreachable', message: /did not agree on TLS within 3 s/ })
  const leaving = new AbortController()
  const left = open(leaving.signal)
  left.catch(() => {})
  await until('it has begun again', () => met === 2)
  leaving.abort(new Error('the device is closed'))
  await t.rejects(left, { message: 'the device is closed' })
  t.equal(clock.pending(), 0)
})

t.test('what is no certificate is refused before anybody is asked', async (t) => {
  const tls = { root: '-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n' }
  const asked = async () =>
    connectSecure({ host: '127.0.0.1', port: 9, tls }, { clock: fakeClock(), connectMs: 9 }, never)
  await t.rejects(asked(), { code: 'device_certificate', message: /no certificate that can be read/ })
})
