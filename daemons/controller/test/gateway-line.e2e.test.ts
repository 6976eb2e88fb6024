/** A device on a gateway's line: the toy amplifier behind a pty and the built gateway. */
import t from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { ask, startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import { toyStage } from './core/drivers/toy-stage.ts'

t.test('a device on a raw line of a gateway is heard and commanded', async (t) => {
  const gateway = await startDaemon(t, 'gateway', { sets: ['ports.allow=["/dev/pts/*"]'] })
  const call = (method: string, path: string, body: unknown, token?: string) =>
    ask(gateway.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    })
  const { body } = await call('POST', '/api/setup', { username: 'admin', password: 'correct horse battery' })
  const pty = openPty()
  t.teardown(() => pty.close())
  const settings = { framing: 'silence', tcp_port: await freePort() }
  const path = `/api/ports/${encodeURIComponent(pty.path)}`
  const put = await call('PUT', path, { protocol: 'raw', line: { baud: 115_200 }, settings }, body.token)
  t.equal(put.status, 200, JSON.stringify(put.body))
  let heard = ''
  pty.onBytes((bytes) => {
    heard += Buffer.from(bytes).toString('latin1')
    if (heard.endsWith('\r\n')) void pty.write(Buffer.from('OK\r\n'))
  })

  const { hostname: host, port } = new URL(gateway.url)
  const transport = { kind: 'gateway', host, port: Number(port), line: pty.path }
  const { turn, reading, host: drivers } = toyStage(t, { transport, device: { api_key: body.token } })
  t.strictSame(await turn(33), {})
  t.equal(heard, 'VOL=33\r\n')
  await pty.write(Buffer.from('VOL 34\r\n'))
  await until('it is heard', () => reading().volume === 34)
  t.match(drivers.view(1), { state: 'ready', done: 1, failed: 0 })
})
