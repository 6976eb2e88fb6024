/** Tests of io/transports/udp.ts. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { until } from '#kit/test/until.ts'
import { connectUdp } from '../../../io/transports/udp.ts'

const parts = { clock: systemClock, connectMs: 5000 }
const never = new AbortController().signal

t.test(
  'an address to which nothing may be sent is told as such, and no socket stays that takes from anybody',
  async (t) => {
    const socketsNow = () => process.getActiveResourcesInfo().filter((name) => name === 'UDPWrap').length
    const before = socketsNow()
    // The broadcast address is not for a socket that has not asked for it, with or without a network.
    await t.rejects(connectUdp({ host: '255.255.255.255', port: 9 }, parts, never), {
      code: 'device_unreachable',
      message: /^255\.255\.255\.255:9 cannot be reached \(E[A-Z]+\)$/,
    })
    await until('its socket is closed', () => socketsNow() === before)
  },
)

t.test('the socket of a device hears that device alone', async (t) => {
  const device = createSocket('udp4')
  const stranger = createSocket('udp4')
  t.teardown(() => void [device.close(), stranger.close()])
  device.bind(0, '127.0.0.1')
  await once(device, 'listening')
  const socket = await connectUdp({ host: '127.0.0.1', port: device.address().port }, parts, never)
  t.teardown(() => void socket.close())
  const { port } = socket.address()
  await new Promise((resolve) => stranger.send('from a stranger', port, '127.0.0.1', resolve))
  device.send('from the device', port, '127.0.0.1')
  const [bytes] = await once(socket, 'message')
  t.equal(String(bytes), 'from the device')
})
