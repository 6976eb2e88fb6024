/** Live captures of the real bundle, read by tshark. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import { simulateModbusLine } from '../../../scripts/sim/modbus-device.ts'
import { simulatedUnit } from '../../../scripts/sim/modbus-unit.ts'
import { sharedGateway } from './shared-gateway.ts'

const run = promisify(execFile)
const noTshark = existsSync('/usr/bin/tshark') ? false : 'needs tshark'

/** Settings that tell Wireshark what linktype 147 is, and that it checks checksums. */
const asModbus = ['-o', 'uat:user_dlts:"User 0 (DLT=147)","mbrtu","0","","0",""', '-o', 'mbrtu.crc_verification:TRUE']

async function lineOf(t: Test, sets: string[] = []) {
  const gateway = await sharedGateway(sets)
  const pty = openPty()
  t.teardown(() => pty.close())
  const unit = simulatedUnit({
    unitId: 1,
    holding: Array.from({ length: 100 }, (_, address) => 100 + address),
    input: () => [7, 8, 9],
    coils: Array.from({ length: 16 }, () => 0),
    discreteInputs: [1, 0, 1],
    identity: ['Plantroom', 'unit 1', '1.0'],
  })
  t.teardown(simulateModbusLine({ duplex: pty, clock: systemClock, units: [unit] }))
  const put = await gateway.openPort(t, pty.path, {
    protocol: 'modbus-rtu',
    line: { baud: 115_200 },
    settings: { response_timeout_ms: 1000, local_echo: 'absent' },
  })
  t.equal(put.status, 200)
  const ask = (body: object) =>
    gateway.call('POST', gateway.portPath(pty.path, '/rest/request'), { unitId: 1, ...body })
  const metric = async (name: string) => {
    const { body } = await gateway.call('GET', '/metrics')
    return Number(new RegExp(`^plantroom_${name} (\\d+)`, 'm').exec(body)?.[1])
  }
  return { ask, gateway, metric, path: pty.path, capturePath: gateway.portPath(pty.path, '/capture.pcap') }
}

type LineOf = Awaited<ReturnType<typeof lineOf>>

/** A capture under way: the bytes so far. */
async function begin(t: Test, { gateway, capturePath }: LineOf, query = '') {
  const headers = query === '' ? { authorization: `Bearer ${gateway.token()}` } : {}
  const request = get(`${gateway.url}${capturePath}${query}`, { headers })
  t.teardown(() => request.destroy())
  request.on('error', () => {})
  const [reply] = await once(request, 'response')
  const capture = {
    status: reply.statusCode,
    headers: reply.headers,
    bytes: Buffer.alloc(0),
    ended: '',
    request,
    reply,
  }
  reply.on('data', (bytes: Buffer) => {
    capture.bytes = Buffer.concat([capture.bytes, bytes])
  })
  reply.on('end', () => {
    capture.ended = 'whole'
  })
  reply.on('error', () => {
    capture.ended = 'broken off'
  })
  return capture
}

/** Every request a master can send, some of them refused. */
const requests = [
  { fc: 1, address: 0, quantity: 5 },
  { fc: 2, address: 0, quantity: 3 },
  { fc: 3, address: 10, quantity: 4 },
  { fc: 4, address: 0, quantity: 3 },
  { fc: 5, address: 1, values: [1] },
  { fc: 6, address: 20, values: [4711] },
  { fc: 15, address: 2, values: [1, 0, 1] },
  { fc: 16, address: 21, values: [1, 2] },
  { fc: 22, address: 20, and_mask: 0x00f2, or_mask: 0x0025 },
  { fc: 23, address: 20, quantity: 2, write_address: 30, values: [5, 6] },
  { fc: 43, address: 0, quantity: 1 },
  { fc: 3, address: 500, quantity: 1 },
  { fc: 6, address: 500, values: [1] },
]

t.test('tshark reads a capture of every function without a complaint', { skip: noTshark }, async (t) => {
  const line = await lineOf(t)
  const capture = await begin(t, line)
  t.match(capture, { status: 200, headers: { 'content-type': 'application/vnd.tcpdump.pcap' } })
  t.match(capture.headers['content-disposition'], /^attachment; filename="[\w.-]+\.pcap"$/)
  for (const request of requests) await line.ask(request)
  const { counters } = (await line.gateway.call('GET', line.gateway.portPath(line.path))).body
  const frames = counters.txFrames + counters.rxFrames
  t.ok(frames >= 2 * requests.length)
  const fields = await fieldsOf(t, () => capture.bytes, frames)
  t.equal(fields.length, frames, 'every frame seen or sent')
  for (const { protocols, crc, complaint, func } of fields) {
    t.match(protocols, /mbrtu/)
    t.equal(crc, '1', `checksum of function ${func}`)
    t.equal(complaint, '')
  }
  const seen = new Set(fields.map(({ func }) => func))
  t.strictSame(
    [...seen].map(Number).sort((a, b) => a - b),
    [1, 2, 3, 4, 5, 6, 15, 16, 22, 23, 43],
  )
  t.equal(fields.filter(({ exception }) => exception === '2').length, 2)
  const times = fields.map(({ epoch }) => Number(epoch))
  t.ok(Math.abs((times[0] ?? 0) - Date.now() / 1000) < 30, 'timestamps are wall time')
  t.strictSame(
    times,
    times.toSorted((a, b) => a - b),
    'in order',
  )
})

interface Fields {
  epoch: string
  protocols: string
  func: string
  exception: string
  crc: string
  complaint: string
}

/** What tshark says of each frame, once there are that many. */
async function fieldsOf(t: Test, bytes: () => Buffer, frames: number): Promise<Fields[]> {
  const folder = mkdtempSync(join(tmpdir(), 'capture-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'line.pcap')
  const names = [
    'frame.time_epoch',
    'frame.protocols',
    'modbus.func_code',
    'modbus.exception_code',
    'mbrtu.crc16.status',
  ]
  const all = [...names, '_ws.expert.message']
  let fields: Fields[] = []
  await until(
    `tshark sees ${frames} frames`,
    async () => {
      writeFileSync(file, bytes())
      const args = [
        '-r',
        file,
        ...asModbus,
        '-T',
        'fields',
        '-E',
        'separator=|',
        ...all.flatMap((name) => ['-e', name]),
      ]
      const { stdout } = await run('tshark', args)
      fields = stdout
        .split('\n')
        .filter((text) => text !== '')
        .map((text) => {
          const [epoch = '', protocols = '', func = '', exception = '', crc = '', complaint = ''] = text.split('|')
          return { epoch, protocols, func, exception, crc, complaint }
        })
      return fields.length >= frames
    },
    20_000,
  )
  return fields
}

t.test('tshark follows a capture while it runs', { skip: noTshark }, async (t) => {
  const line = await lineOf(t)
  const tshark = spawn('tshark', ['-i', '-', '-l', ...asModbus], { stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = once(tshark, 'exit')
  t.teardown(async () => {
    // It keeps what it reads in its own file, which it removes when asked to end.
    tshark.kill('SIGTERM')
    await ended
  })
  let told = ''
  tshark.stdout.on('data', (text) => (told += text))
  const capture = await begin(t, line)
  capture.reply.pipe(tshark.stdin)
  await line.ask({ fc: 3, address: 0, quantity: 1 })
  await until(
    'it shows the request and the reply',
    () => /Query.*Read Holding[\s\S]*Response.*Read Holding/.test(told),
    30_000,
  )
  t.equal(capture.ended, '')
})

t.test('a ticket in the address opens a capture once', async (t) => {
  const line = await lineOf(t)
  const { ticket } = (await line.gateway.call('POST', '/api/ticket')).body
  t.equal((await begin(t, line, `?ticket=${ticket}`)).status, 200)
  t.equal((await begin(t, line, `?ticket=${ticket}`)).status, 401)
})

t.test('captures are bounded; one whose client has left makes room', async (t) => {
  const line = await lineOf(t, ['capture.max=1'])
  const first = await begin(t, line)
  t.equal(first.status, 200)
  const second = await line.gateway.call('GET', line.capturePath)
  t.match(second, { status: 429, body: { error: 'too_many_captures' } })
  first.request.destroy()
  await until('it is over', async () => (await line.metric('captures_running')) === 0)
  t.equal((await begin(t, line)).status, 200)
})

t.test('a HEAD request leaves no capture running', async (t) => {
  const line = await lineOf(t, ['capture.max=1'])
  for (let times = 0; times < 3; times++) {
    const head = await fetch(line.gateway.url + line.capturePath, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${line.gateway.token()}` },
    })
    t.equal(head.status, 200)
    await until('it is over', async () => (await line.metric('captures_running')) === 0)
  }
})

t.test(
  'a capture ends with a complete file when its port closes or changes protocol, or the gateway stops',
  async (t) => {
    // A separate gateway, because the test stops it.
    const line = await lineOf(t, ['capture.max=3'])
    const { gateway, path } = line
    const captures = [await begin(t, line)]
    await gateway.call('PUT', gateway.portPath(path), { protocol: 'raw' })
    await until('it ends with its protocol', () => captures[0]?.ended === 'whole')
    captures.push(await begin(t, line))
    await gateway.call('DELETE', gateway.portPath(path))
    await until('it ends with its port', () => captures[1]?.ended === 'whole')
    t.match(await gateway.call('GET', line.capturePath), { status: 404, body: { error: 'unknown_port' } })
    await gateway.call('PUT', gateway.portPath(path), { protocol: 'raw' })
    captures.push(await begin(t, line))
    await until('its head is there', () => captures[2]?.bytes.length === 24)
    const stopped = gateway.stop()
    await until('it ends with the gateway', () => captures[2]?.ended === 'whole')
    t.equal(await stopped, 0)
  },
)

t.test('a capture that is not read is cut off, counted and logged, and the line keeps running', async (t) => {
  const line = await lineOf(t, ['capture.backlog_bytes=65536'])
  const { gateway } = line
  const raw = openPty()
  t.teardown(() => raw.close())
  await gateway.openPort(t, raw.path, {
    protocol: 'raw',
    settings: { framing: 'length', frame_bytes: 8192 },
  })
  const capturePath = gateway.portPath(raw.path, '/capture.pcap')
  const slow = await begin(t, { ...line, capturePath })
  slow.reply.pause()
  const bytes = Buffer.alloc(65_536, 0x55)
  for (let written = 0; written < 200 && (await line.metric('captures_broken_off_total')) === 0; written++)
    await raw.write(bytes)
  await until('it is broken off', async () => (await line.metric('captures_broken_off_total')) === 1)
  t.equal(await line.metric('captures_running'), 0)
  t.match(gateway.output(), /capture broken off/)
  slow.reply.resume()
  await until('its client is told', () => slow.ended === 'broken off')
  t.match(await line.ask({ fc: 3, address: 0, quantity: 1 }), { status: 200, body: { values: [100] } })
})
