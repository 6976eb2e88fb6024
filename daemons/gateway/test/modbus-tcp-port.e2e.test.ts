/** The TCP port of a Modbus line, on the real bundle: when it is open. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import t from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { until } from '#kit/test/until.ts'
import { lineOf } from './modbus-tcp-rig.ts'
import { dialMbap } from './peer/mbap-client.ts'

t.test(
  'a TCP port that is taken is a fault of the port, which works anyway and opens it once it is free',
  async (t) => {
    const tcpPort = await freePort()
    const squatter = createServer().listen(tcpPort, '127.0.0.1')
    await once(squatter, 'listening')
    const sets = ['ports.retry_first_ms=50', 'ports.retry_max_ms=100']
    const { ask, view } = await lineOf(t, { tcpPort, sets })
    await until('its fault is reported', async () => (await view()).fault !== null)
    t.match(await view(), {
      state: 'open',
      fault: { code: 'tcp_port_taken', message: new RegExp(`${tcpPort}.*EADDRINUSE`) },
    })
    t.match(await ask({ unitId: 1, fc: 3, address: 0, quantity: 1 }), { status: 200, body: { values: [100] } })
    squatter.close()
    await until('its fault is gone', async () => (await view()).fault === null)
    const client = await dialMbap(t, tcpPort)
    t.equal(await client.exchange('01 03 00 00 00 01'), '01 03 02 00 64')
  },
)

t.test('mode listen with a TCP port is refused with the name of the field, and the port keeps running', async (t) => {
  const { gateway, path, tcpPort } = await lineOf(t)
  const settings = { mode: 'listen', tcp_port: tcpPort }
  t.match(await gateway.call('PUT', gateway.portPath(path), { protocol: 'modbus-rtu', settings }), {
    status: 400,
    body: { error: 'bad_fields', fields: [{ field: 'settings.tcp_port', message: /mode master/ }] },
  })
  const client = await dialMbap(t, tcpPort)
  t.equal(await client.exchange('01 03 00 00 00 01'), '01 03 02 00 64')
})

t.test('the TCP port closes with the line and opens with it', async (t) => {
  const { gateway, path, tcpPort } = await lineOf(t)
  const client = await dialMbap(t, tcpPort)
  t.equal(await client.exchange('01 03 00 00 00 01'), '01 03 02 00 64')
  await gateway.call('POST', gateway.portPath(path, '/close'))
  await until('it is disconnected', client.isClosed)
  const [error] = await once(connect(tcpPort, '127.0.0.1'), 'error')
  t.equal(error.code, 'ECONNREFUSED')
  await gateway.call('POST', gateway.portPath(path, '/open'))
  const again = await dialMbap(t, tcpPort)
  t.equal(await again.exchange('01 03 00 00 00 01'), '01 03 02 00 64')
})
