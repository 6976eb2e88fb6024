/** Devices by definition on lines of the built gateway: played on ptys, commanded over HTTP. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { definitionFile } from '#kit/test/device/shipped-sets.ts'
import { until } from '#kit/test/until.ts'
import { startGateway } from './running-gateway.ts'
import { ptyOfFile } from './shared-gateway.ts'

const gateway = await startGateway(t, { sets: ['ports.allow=["/dev/pts/*"]'] })
await gateway.setUp()

/** A device on a line that answers what it hears. @param answer from one message to another; undefined says nothing */
function played(answer: (heard: string) => string | undefined) {
  const pty = ptyOfFile()
  const heard: string[] = []
  pty.onBytes((bytes) => {
    const text = Buffer.from(bytes).toString('latin1')
    heard.push(text)
    const said = answer(text)
    if (said !== undefined) void pty.write(Buffer.from(said, 'latin1'))
  })
  return { pty, heard, say: (text: string) => pty.write(Buffer.from(text, 'latin1')) }
}

const summed = (...bytes: number[]) =>
  String.fromCharCode(...bytes, bytes.slice(1).reduce((sum, byte) => sum + byte, 0) & 0xff)

t.test('A.equipment a display is asked by itself, commanded, and its values are events', async (t) => {
  const state = new Map([
    [0x11, 0],
    [0x12, 10],
    [0x13, 0],
    [0x14, 0x21],
  ])
  const display = played((heard) => {
    const [, command = 0, id = 0, length = 0, value = 0] = Buffer.from(heard, 'latin1')
    if (command === 0x14 && length === 1 && value === 0x08) return summed(0xaa, 0xff, id, 3, 0x4e, command, 1)
    if (length === 1) state.set(command, value)
    return summed(0xaa, 0xff, id, 3, 0x41, command, state.get(command) ?? 0)
  })
  const { path } = display.pty
  const settings = { definition: 'samsung-mdc', config: { id: 3 }, poll_ms: 200 }
  const put = await gateway.openPort(t, path, { protocol: 'equipment', settings })
  t.equal(put.status, 200, JSON.stringify(put.body))
  const view = async () => (await gateway.call('GET', gateway.portPath(path, '/equipment'))).body
  const valueNamed = async (name: string) =>
    (await view()).values.find((value: { name: string }) => value.name === name)?.value
  await until(
    'it was asked',
    async () => (await valueNamed('volume')) === 10 && (await valueNamed('input')) === 'hdmi1',
  )
  t.match(await view(), { definition: 'samsung-mdc', title: 'Samsung display, MDC', zone: null })

  const command = (body: object) => gateway.call('POST', gateway.portPath(path, '/rest/command'), body)
  t.match(await command({ command: 'volume', args: { volume: 40 } }), {
    status: 200,
    body: { command: 'volume', values: { volume: 40 } },
  })
  t.equal(state.get(0x12), 40)
  t.equal(await valueNamed('volume'), 40)
  t.match(await command({ command: 'input', args: { input: 'component' } }), {
    status: 502,
    body: { error: 'command_refused' },
  })
  t.match(await command({ command: 'volum' }), {
    status: 400,
    body: { error: 'command_unknown', message: /nearest is volume/ },
  })
  t.match(await command({ command: 'volume', args: { volume: 101 } }), { status: 400, body: { error: 'command_args' } })
  t.match(await command({ command: 'volume', args: { volume: [1] } }), { status: 400, body: { error: 'bad_fields' } })

  t.match(
    (await view()).values.map(({ name, series }: { name: string; series: string | null }) => [name, series]).sort(),
    [
      ['input', null],
      ['mute', 'mute'],
      ['power', 'power'],
      ['volume', 'volume'],
    ],
  )
  const history = async (name: string) =>
    gateway.call('GET', gateway.portPath(path, `/points/${name}/history?step=60&from=${Date.now() - 120_000}`))
  // A slot may begin between the two values.
  const isRecorded = async () =>
    (await history('volume')).body.buckets.some(({ max }: { max: number | null }) => max === 40)
  await until('it is in the history', isRecorded)
  t.match(await history('volume'), { status: 200, body: { name: 'volume', unit: '%' } })
  t.match(await history('input'), { status: 404, body: { error: 'unknown_point' } })
  const table = await gateway.call('GET', gateway.portPath(path, '/history.csv?step=3600'))
  t.match(String(table.body), /^time,point,unit,.*\r\n.*,volume,%,.*,40,/s)

  const frames = (await gateway.call('GET', gateway.portPath(path, '/frames?limit=500'))).body
  const values = frames.filter(({ event }: { event: string }) => event === 'value')
  t.ok(
    values.some(
      ({ payload }: { payload: { name: string; value: unknown } }) => payload.name === 'volume' && payload.value === 40,
    ),
  )
  const journal = (await gateway.call('GET', '/api/journal')).body
  t.ok(JSON.stringify(journal).includes('command sent'), 'commands are in the journal')
})

t.test('six kinds of device speak on a line', async (t) => {
  const rows: [string, Record<string, string>, object, object][] = [
    [
      'extron-sis-switcher',
      { '!': '1\r\n', '3!': 'In3 All\r\n' },
      { command: 'input', args: { input: 3 } },
      { input: 3 },
    ],
    [
      'kramer-protocol-3000',
      { '#VID 1>2\r': '~01@VID 1>2 OK\r\n' },
      { command: 'input', zone: '2', args: { input: 1 } },
      { input: 1 },
    ],
    [
      'lg-display-rs232',
      { 'ka 01 ff\r': 'a 01 OK01x', 'kf 01 ff\r': 'f 01 OK10x', 'kf 01 1e\r': 'f 01 OK1ex' },
      { command: 'volume', args: { volume: 30 } },
      { volume: 30 },
    ],
    [
      'epson-esc-vp21',
      { 'PWR?\r': 'PWR=01\r:', 'MUTE ON\r': ':' },
      { command: 'mute', args: { mute: true } },
      { mute: true },
    ],
    [
      'mettler-toledo-sics',
      { 'SI\r\n': 'S D       1.00 g\r\n', 'S\r\n': 'S S     100.00 g\r\n' },
      { command: 'weigh' },
      { weight: 100, unit: 'g', stable: true },
    ],
    [
      'panasonic-projector-rs232',
      { '\x02QPW\x03': '\x02001\x03', '\x02OSH:1\x03': '\x02OSH:1\x03' },
      { command: 'shutter', args: { shutter: true } },
      { shutter: true },
    ],
  ]
  for (const [definition, answers, body, values] of rows) {
    const device = played((heard) => answers[heard])
    const { path } = device.pty
    const put = await gateway.openPort(t, path, { protocol: 'equipment', settings: { definition } })
    t.equal(put.status, 200, JSON.stringify(put.body))
    const answer = await gateway.call('POST', gateway.portPath(path, '/rest/command'), body)
    t.same(
      [answer.status, answer.body.values],
      [200, values],
      `${definition} ${JSON.stringify([answer.body, device.heard])}`,
    )
  }
})

t.test('what a device says by itself is told to the page and kept', async (t) => {
  const balance = played(() => undefined)
  const { path } = balance.pty
  await gateway.openPort(t, path, {
    protocol: 'equipment',
    settings: { definition: 'mettler-toledo-sics', poll_ms: 86_400_000 },
  })
  await until('it was asked', () => balance.heard.length > 0)
  await balance.say('S S      55.10 g\r\n')
  await until('its weight is there', async () => {
    const { body } = await gateway.call('GET', gateway.portPath(path, '/equipment'))
    return body.values.some(({ name, value }: { name: string; value: unknown }) => name === 'weight' && value === 55.1)
  })
})

t.test('an owner’s definition is used, and one that there is not is the fault of the port', async (t) => {
  const folder = join(gateway.stateFolder, 'definitions')
  mkdirSync(folder)
  writeFileSync(join(folder, 'own.json'), JSON.stringify({ ...definitionFile('extron-sis-switcher'), name: 'own' }))
  const device = played((heard) => (heard === '!' ? '7\r\n' : undefined))
  const { path } = device.pty
  const typo = await gateway.openPort(t, path, { protocol: 'equipment', settings: { definition: 'owm' } })
  t.equal(typo.status, 200)
  t.match(typo.body.fault, { code: 'definition_unknown' })
  t.match(await gateway.call('POST', gateway.portPath(path, '/rest/command'), { command: 'input' }), {
    status: 422,
    body: { error: 'definition_unknown' },
  })
  const put = await gateway.call('PUT', gateway.portPath(path), {
    protocol: 'equipment',
    settings: { definition: 'own' },
  })
  t.equal(put.status, 200)
  await until('its own is read', async () => {
    const { body } = await gateway.call('GET', gateway.portPath(path, '/equipment'))
    return body.values[0]?.value === 7
  })
  const none = await gateway.call('PUT', gateway.portPath(path), { protocol: 'equipment' })
  t.match(none, { status: 400, body: { fields: [{ field: 'settings.definition' }] } })
})
