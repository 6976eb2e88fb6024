/** Tests of net/mdns/sockets.ts, over the loopback interface and a port that nobody else uses. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import t, { type Test } from 'tap'
import { chooseLinks, openMulticast } from '../../../net/mdns/sockets.ts'
import { freePort } from '../../free-port.ts'

const links = chooseLinks(networkInterfaces(), '127.0.0.1')

async function opened(t: Test, port: number) {
  const { promise: first, resolve } = Promise.withResolvers<string>()
  const heard: string[] = []
  const troubles: Error[] = []
  const sockets = await openMulticast({
    links,
    port,
    onMessage(bytes, from) {
      heard.push(`${Buffer.from(bytes)} from ${from.address}`)
      if (from.port === port) resolve(heard.at(-1) ?? '')
    },
    onTrouble: (_link, error) => void troubles.push(error),
  })
  t.teardown(() => sockets.close())
  return { sockets, heard, first, troubles }
}

t.test('two on one machine hear each other, each message once', async (t) => {
  const port = await freePort()
  const [one, other] = [await opened(t, port), await opened(t, port)]
  const [link] = links
  if (!link) throw new Error('there is no loopback interface')
  one.sockets.send(link, Buffer.from('hello'))
  t.equal(await other.first, 'hello from 127.0.0.1')
  t.equal(await one.first, 'hello from 127.0.0.1', 'as does the sender')
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(other.heard.length, 1)
  t.same([...one.troubles, ...other.troubles], [])
})

t.test('a message to the machine and not to the group is not received', async (t) => {
  const port = await freePort()
  const { heard, sockets, first } = await opened(t, port)
  const stranger = createSocket('udp4')
  t.teardown(() => stranger.close())
  stranger.send('secret', port, '127.0.0.1')
  await once(stranger, 'listening')
  await new Promise((resolve) => setTimeout(resolve, 50))
  const [link] = links
  if (link) sockets.send(link, Buffer.from('hello'))
  await first
  t.same(heard, ['hello from 127.0.0.1'])
})

t.test('a port that somebody holds exclusively gives the error of the system', async (t) => {
  const port = await freePort()
  const other = createSocket('udp4').bind(port, '0.0.0.0')
  t.teardown(() => other.close())
  await once(other, 'listening')
  await t.rejects(opened(t, port), { code: 'EADDRINUSE' })
})

t.test('an interface that cannot be joined is reported, and the others work', async (t) => {
  const port = await freePort()
  const troubles: (string | undefined)[] = []
  const gone = { name: 'gone0', address: '192.0.2.77', addresses: [], networks: [] }
  const sockets = await openMulticast({
    links: [gone, ...links],
    port,
    onMessage() {},
    onTrouble: (link) => void troubles.push(link?.name),
  })
  t.same(troubles, ['gone0'])
  sockets.send(gone, Buffer.from('x'))
  sockets.close()
})
