/** The root CAs of gateways of which some are hostile: what is refused before anybody compares it, and who waits for whom. */
import { once } from 'node:events'
import { createServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { until } from '#kit/test/until.ts'
import { createGatewayRoots } from '../../io/gateway-roots.ts'
import { fingerprintOf } from '../../io/transports/secure.ts'
import { authority } from '../core/drivers/gateway/authority.ts'

async function placeOf(t: Test, server: Server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

t.test('what is handed out is refused unless it is a root CA, and that of the server', async (t) => {
  const { root, cert, key } = authority()
  let handedOut = root
  const server = createServer({ cert, key }, (_request, response) => response.end(handedOut))
  const place = await placeOf(t, server)
  const roots = createGatewayRoots({ clock: systemClock, connectMs: 60_000 })
  const fetched = () => roots.fetch(place)
  t.match(await fetched(), { root, fingerprint: fingerprintOf(root) })
  for (const [other, message] of [
    ['<html>', /^Its root CA could not be read: what it hands out is not the certificate of a CA\.$/],
    [cert, /what it hands out is not the certificate of a CA/],
    [authority().root, /its certificate was not issued by the root CA with the fingerprint/],
  ] as const) {
    handedOut = other
    await t.rejects(fetched(), { code: 'found_root_unread', message })
  }
})

t.test('a gateway that never answers keeps no other waiting, and so many at once are bounded', async (t) => {
  const clock = fakeClock()
  let met = 0
  const silent = await placeOf(
    t,
    createTcpServer((wire) => {
      wire.on('error', () => {})
      wire.once('data', () => met++)
      t.teardown(() => wire.destroy())
    }),
  )
  const { root, cert, key } = authority()
  const honest = await placeOf(
    t,
    createTlsServer({ cert, key }, (stream) => {
      stream.on('error', () => {})
      stream.once('data', () => stream.end(`HTTP/1.1 200 OK\r\nContent-Length: ${root.length}\r\n\r\n${root}`))
    }),
  )
  const roots = createGatewayRoots({ clock, connectMs: 3000 })
  const late = Array.from({ length: 3 }, () => roots.fetch(silent))
  for (const one of late) one.catch(() => {})
  t.equal((await roots.fetch(honest)).root, root)
  late.push(roots.fetch(silent))
  late.at(-1)?.catch(() => {})
  await t.rejects(roots.fetch(honest), { code: 'found_root_unread', message: /4 .* Try again/ })
  await until('all shake hands', () => met === 4)
  clock.advance(3000)
  for (const one of late)
    await t.rejects(one, { code: 'found_root_unread', message: /did not agree on TLS within 3 s/ })
  t.equal((await roots.fetch(honest)).root, root, 'there is room again')
  t.equal(clock.pending(), 0)
})
