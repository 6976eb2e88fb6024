/** plantroom status. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, t } from 'tap'
import { status } from '../status.ts'
import { runCommand } from './world.ts'

/** Something that listens, and answers every request alike. */
async function listening(t: Test, body: string, code = 200): Promise<string> {
  const server = createServer((_, answer) => void answer.writeHead(code).end(body))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('shows what a daemon answers, and ends with 0', async (t) => {
  const address = await listening(t, '{"version":"1.2.3","name":"Boiler room","uptimeMs":3900000}')
  const { code, out } = await runCommand(status, ['small', '--listen', address])
  t.equal(code, 0)
  t.match(
    out,
    /^daemon +unit +address +health +version +up\nsmall +- +http:\/\/127\.0\.0\.1:\d+ +answers +1\.2\.3 +1 h 5 min\n$/,
  )
})

t.test('gives the same as JSON', async (t) => {
  const address = await listening(t, '{"version":"1.2.3","name":"Boiler room","uptimeMs":5}')
  const { out } = await runCommand(status, ['small', '--json', '--set', `http.listen=${address}`])
  t.match(JSON.parse(out), [
    {
      daemon: 'small',
      url: `http://${address}`,
      health: 'answers',
      version: '1.2.3',
      name: 'Boiler room',
      uptimeMs: 5,
    },
  ])
})

t.test('ends with 3 when nobody answers', async (t) => {
  const { code, out } = await runCommand(status, ['small', '--listen', '127.0.0.1:1'])
  t.equal(code, 3)
  t.match(out, /no answer/)
})

t.test('is not fooled by something else that listens there', async (t) => {
  for (const address of [
    await listening(t, 'hello'),
    await listening(t, '{}'),
    await listening(t, '{"version":"1"}', 500),
  ])
    t.match(await runCommand(status, ['small', '--listen', address]), { code: 3, out: /wrong answer/ })
})

t.test('says so when the settings are refused', async (t) => {
  t.match(await runCommand(status, ['small', '--listen', 'x']), { code: 3, out: /settings refused/ })
})
