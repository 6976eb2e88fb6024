/** The root CAs of gateways: what is refused before anybody compares it. */
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { createGatewayRoots } from '../../io/gateway-roots.ts'
import { fingerprintOf } from '../../io/transports/secure.ts'
import { authority } from '../core/drivers/gateway/authority.ts'

t.test('what is handed out is refused unless it is a root CA, and that of the server', async (t) => {
  const { root, cert, key } = authority()
  let handedOut = root
  const server = createServer({ cert, key }, (_request, response) => response.end(handedOut))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const roots = createGatewayRoots({ clock: systemClock, connectMs: 60_000 })
  const fetched = () => roots.fetch({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  t.match(await fetched(), { root, fingerprint: fingerprintOf(root) })
  for (const [other, message] of [
    ['<html>', /^Its root CA could not be read: what it hands out is not the certificate of a CA\.$/],
    [cert, /what it hands out is not the certificate of a CA/],
    [authority().root, /its certificate is not from the root/],
  ] as const) {
    handedOut = other
    await t.rejects(fetched(), { code: 'found_root_unread', message })
  }
})
