/** plantroom status. */
import { chmodSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
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

t.test('a board says how it is, in its own words', async (t) => {
  const verdict = { state: 'warn', text: 'Plays, and the clock is not locked.' }
  const address = await listening(t, JSON.stringify({ version: '1.2.3', role: 'decoder', verdict }))
  t.match(
    (await runCommand(status, ['small', '--listen', address])).out,
    /answers +1\.2\.3 +- +Plays, and the clock is not locked\.\n$/,
  )
  const { out } = await runCommand(status, ['small', '--json', '--listen', address])
  t.match(JSON.parse(out), [{ role: 'decoder', verdict }])
})

t.test('on a terminal, health and trouble have colours, and the columns stay where they are', async (t) => {
  const verdict = { state: 'warn', text: 'Plays, and the clock is not locked.' }
  const address = await listening(t, JSON.stringify({ version: '1.2.3', verdict }))
  const argv = ['small', '--listen', address]
  const { out } = await runCommand(status, argv, { inColours: true })
  t.match(out, '\x1b[32manswers\x1b[0m')
  t.match(out, `\x1b[33m${verdict.text}\x1b[0m\n`)
  t.equal(stripVTControlCharacters(out), (await runCommand(status, argv)).out)
  const { out: silent } = await runCommand(status, ['small', '--listen', '127.0.0.1:1'], { inColours: true })
  t.match(silent, '\x1b[31mno answer\x1b[0m')
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
    t.match(await runCommand(status, ['small', '--listen', address]), { code: 3, out: /something else answers there/ })
})

t.test('takes nothing for a daemon that has no version, an odd name, or too much to say', async (t) => {
  const bodies = [
    { version: '1' },
    { version: `1.2.3\u001b[2J` },
    { version: `1.2.3-${'a'.repeat(64)}` },
    { version: '1.2.3', name: 'a\nb' },
    { version: '1.2.3', name: '\u001b]0;x\u0007' },
    { version: '1.2.3', name: 'n'.repeat(65) },
    { version: '1.2.3', uptimeMs: -1 },
    { version: '1.2.3', more: 'x'.repeat(65_536) },
    { version: '1.2.3', uptimeMs: 1e300 },
    { version: '1.2.3', uptime_s: '5' },
  ]
  for (const body of bodies) {
    const address = await listening(t, JSON.stringify(body))
    const { code, out } = await runCommand(status, ['small', '--json', '--listen', address])
    t.match({ code, all: JSON.parse(out) }, { code: 3, all: [{ health: 'wrong answer', version: null, name: null }] })
  }
})

for (const { what, bytes } of [
  { what: 'answers without end', bytes: 65_536 },
  { what: 'answers byte by byte', bytes: 1 },
])
  t.test(`is not held by something that ${what}`, async (t) => {
    const server = createServer((_, answer) => {
      const more = setInterval(() => answer.write(' '.repeat(bytes)), 5)
      answer.on('close', () => clearInterval(more))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
    t.match(await runCommand(status, ['small', '--listen', address]), { code: 3, out: /something else answers there/ })
  })

t.test('says so when the settings are refused', async (t) => {
  t.match(await runCommand(status, ['small', '--listen', 'x']), { code: 3, out: /settings refused/ })
})

/** A systemctl that has this to say of every unit. */
function systemdThatSays(t: Test, facts: Record<string, string>) {
  const lines = Object.entries(facts).map(([key, value]) => `echo '${key}=${value}'`)
  const folder = t.testdir({ systemctl: ['#!/bin/sh', ...lines, ''].join('\n') })
  chmodSync(join(folder, 'systemctl'), 0o755)
  return { env: { PATH: `${folder}:/bin` } }
}

const OFF = { LoadState: 'loaded', ActiveState: 'inactive', UnitFileState: 'disabled' }
const NOBODY = '127.0.0.1:1'

t.test('a daemon that nobody has switched on is off, and no fault of the box', async (t) => {
  const folder = t.testdir({ daemons: {} })
  const bare = await runCommand(status, [], { daemonsFolder: join(folder, 'daemons') })
  t.match(bare, { code: 0, out: 'There is no daemon here.\n' })
  for (const facts of [OFF, { ...OFF, LoadState: 'masked', UnitFileState: 'masked' }]) {
    // Nobody listens at port 3999 of the small daemon, or it would answer.
    const all = await runCommand(status, [], systemdThatSays(t, facts))
    t.match(all, { code: 0, out: /^small +inactive +\S+ +off +- +-$/m })
  }
  const asked = await runCommand(status, ['small', '--listen', NOBODY], systemdThatSays(t, OFF))
  t.match(asked, { code: 3, out: /off/ }, 'who asks for it by name wants it to run')
})

t.test('a daemon that is switched on, or has failed, and does not answer is a fault', async (t) => {
  for (const facts of [
    { ...OFF, UnitFileState: 'enabled' },
    { ...OFF, ActiveState: 'failed' },
    { ...OFF, ActiveState: 'activating' },
  ])
    t.match(await runCommand(status, [], systemdThatSays(t, facts)), { code: 3, out: /no answer/ })
})

t.test('a daemon that asks for a password answers, and systemd knows since when', async (t) => {
  const startedUs = String(process.hrtime.bigint() / 1000n - 3_900_000_000n)
  const facts = { ...OFF, ActiveState: 'active', ActiveEnterTimestampMonotonic: startedUs }
  for (const [code, error] of [
    [401, 'unauthorized'],
    [429, 'slow_down'],
  ] as const) {
    const address = await listening(t, JSON.stringify({ error, message: 'credentials are missing' }), code)
    const { out, ...how } = await runCommand(status, ['small', '--listen', address], systemdThatSays(t, facts))
    t.match(how, { code: 0 })
    t.match(out, /^small +active +\S+ +answers +- +1 h 5 min$/m)
  }
  const other = await listening(t, '{"error":"unauthorized"}', 401)
  t.match(await runCommand(status, ['small', '--listen', other]), { code: 3, out: /something else answers there/ })
})

t.test('reads how long a board is up', async (t) => {
  const address = await listening(t, '{"version":"1.2.3","name":"Lobby","uptime_s":3900}')
  t.match(await runCommand(status, ['small', '--listen', address]), { code: 0, out: /1\.2\.3 +1 h 5 min$/m })
})
