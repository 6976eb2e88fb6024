/** MS/TP on the built gateway: a ring of simulated nodes on a pty, asked over HTTP, told by events, read by tshark. */
import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { readPresentValue, type SimulatedNode, SimulatedRing } from '../../../scripts/sim/mstp-ring.ts'
import { encodeMstpFrame } from '../wire/mstp/frame.ts'
import { LINK_TYPES, pcapFileHead, pcapRecord } from '../wire/pcap.ts'
import { ptyOfFile, sharedGateway } from './shared-gateway.ts'

const run = promisify(execFile)
const noTshark = existsSync('/usr/bin/tshark') ? false : 'needs tshark'
const gateway = await sharedGateway()

const devices: SimulatedNode[] = [
  { mac: 4, value: 21.5 },
  { mac: 7, manner: 'postponed', value: 4 },
  { mac: 9, manner: 'never' },
]

async function ringWith(t: Test, settings: object, nodes: readonly SimulatedNode[] = devices) {
  const pty = ptyOfFile()
  const ring = new SimulatedRing({ duplex: pty, nodes })
  t.teardown(() => ring.stop())
  const put = await gateway.openPort(t, pty.path, { protocol: 'bacnet-mstp', line: { baud: 76_800 }, settings })
  t.equal(put.status, 200, JSON.stringify(put.body))
  const at = (rest: string) => gateway.portPath(pty.path, rest)
  /** On a busy machine a reply may be late, or two tokens meet: asked again, it comes. */
  async function send(body: object, wanted: (status: number) => boolean = (status) => status < 500) {
    for (let tries = 0; ; tries++) {
      const answer = await gateway.call('POST', at('/rest/send'), body)
      if (wanted(answer.status) || tries === 20) return answer
    }
  }
  const view = async () => (await gateway.call('GET', at('/ring'))).body
  const events = async () => (await gateway.call('GET', at('/frames?limit=500'))).body
  return { at, events, pty, ring, send, view }
}

t.test(
  'A.endpoints rest/send: a node joins the ring, sends frames in both forms, and returns the replies',
  async (t) => {
    const { at, events, pty, send, view } = await ringWith(t, { mac: 1, max_master: 12, frames: 'data' })
    await until('the ring is whole', async () => (await view())?.order.join() === '1,4,7,9')
    const asking = { frameType: 'BACNET_DATA_EXPECTING_REPLY', source: 1 }
    const property = { pdu: 'complex-ack', service: 'read-property' }

    t.match(await send({ ...asking, destination: 4, dataHex: readPresentValue(7) }), {
      status: 200,
      body: {
        ...{ sent: 23, ...asking, destination: 4, postponed: false },
        reply: {
          ...{ frameType: 'BACNET_DATA_NOT_EXPECTING_REPLY', source: 4, destination: 1 },
          ...{ dataHex: /3E 44 41 AC 00 00 3F$/, bacnet: { ...property, invokeId: 7 } },
        },
      },
    })
    t.match(
      await send({ ...asking, destination: 7, dataHex: readPresentValue(8) }),
      { status: 200, body: { postponed: true, reply: { source: 7, dataHex: /3E 44 40 80 00 00 3F$/ } } },
      'REPLY_POSTPONED is followed',
    )
    const data = Uint8Array.from(Buffer.from(readPresentValue(9).replaceAll(' ', ''), 'hex'))
    const frameHex = Buffer.from(encodeMstpFrame({ frameType: 5, source: 1, destination: 4, data })).toString('hex')
    t.match(await send({ frameHex }), { status: 200, body: { reply: { bacnet: { ...property, invokeId: 9 } } } })
    const whoIs = {
      frameType: 'BACNET_DATA_NOT_EXPECTING_REPLY',
      destination: 255,
      source: 1,
      dataHex: '01 20 FF FF 00 FF 10 08',
    }
    t.match(await send(whoIs), { status: 200, body: { sent: 18, reply: null, tookMs: null } })
    const test = { frameType: 'TEST_REQUEST', destination: 9, source: 1, dataHex: '0A 0B' }
    t.match(await send(test), { status: 200, body: { reply: { frameType: 'TEST_RESPONSE', dataHex: '0A 0B' } } })
    t.match(await send({ ...asking, destination: 9, dataHex: readPresentValue(3) }), {
      status: 504,
      body: { error: 'mstp_timeout', message: /^Node 9 did not answer/ },
    })

    await until('frames are events', async () =>
      (await events()).some(
        ({ event, payload }: { event: string; payload: { decoded: { service?: string } } }) =>
          event === 'frame' && payload.decoded?.service === 'who-is',
      ),
    )
    const told = (await events()).filter(({ event }: { event: string }) => event === 'frame')
    const types = new Set(
      told.map(({ payload }: { payload: { decoded: { frameType: string } } }) => payload.decoded.frameType),
    )
    t.ok(types.has('REPLY_POSTPONED') && !types.has('TOKEN'), [...types].join())
    const { counters, fault, state } = (await gateway.call('GET', gateway.portPath(pty.path))).body
    t.match({ fault, state }, { fault: null, state: 'open' })
    t.ok(counters.requests >= 6 && counters.replies >= 4 && counters.timeouts >= 1 && counters.postponed >= 1)
    t.match(counters, { duplicateMacs: 0, crcErrors: 0 })
    const journal = JSON.stringify((await gateway.call('GET', '/api/journal')).body)
    t.ok(journal.includes('frame sent') && journal.includes('mstp_timeout'))
    t.match(await gateway.call('POST', at('/rest/tx'), { hex: '01' }), {
      status: 409,
      body: { error: 'wrong_protocol' },
    })
  },
)

t.test('nodes that vanish are told by the port, its list, events and the ledger; so is their return', async (t) => {
  const { at, events, pty, ring, view } = await ringWith(t, { mac: 1, max_master: 12, node_gone_ms: 1500 })
  const port = async () => (await gateway.call('GET', gateway.portPath(pty.path))).body
  const ledger = async () => {
    const { entries } = (await gateway.call('GET', '/api/ledger?since=0')).body
    return entries
      .filter(({ where }: { where: string }) => where.startsWith(pty.path))
      .map(({ until, what }: { until: number | null; what: string }) => `${what} ${until === null ? 'open' : 'over'}`)
  }
  const told = async (state: string) =>
    (await events())
      .filter(({ event, payload }: { event: string; payload: { state: string } }) => {
        return event === 'unit' && payload.state === state
      })
      .map(({ payload }: { payload: { unitId: number } }) => payload.unitId)
  await until('all are in the ring', async () => (await port()).units?.well === 3)
  t.match(await port(), { state: 'open', fault: null, units: { total: 3, well: 3, silent: 0 } })

  ring.stop()
  await until('nobody is there', async () => (await port()).fault?.code === 'mstp_alone')
  await until('each is told', async () => (await told('silent')).length >= 3)
  t.match(await port(), { state: 'open', units: { total: 3, well: 0, silent: 3 } })
  t.match((await port()).fault.message, /Nobody else is heard any more: nodes 4, 7, 9 are gone/)
  await until('it is in the ledger', async () => (await ledger()).includes('mstp_alone open'))

  const again = new SimulatedRing({ duplex: pty, nodes: [{ mac: 4 }, { mac: 9 }] })
  t.teardown(() => again.stop())
  await until('two are back', async () => (await port()).units?.well === 2)
  await until('the third is by itself', async () => (await ledger()).includes('unit_silent open'))
  t.same(
    (await ledger()).filter((entry: string) => entry.startsWith('mstp_alone')),
    ['mstp_alone over'],
  )
  t.match(await port(), { fault: null, units: { total: 3, well: 2, silent: 1 } })
  t.equal((await gateway.call('DELETE', at('/units/4'))).status, 404, 'it is there')
  t.equal((await gateway.call('DELETE', at('/units/7'))).status, 204)
  t.match(await port(), { units: { total: 2, well: 2, silent: 0 } })
  t.notOk((await view()).nodes.some(({ mac }: { mac: number }) => mac === 7))
  await until('it is no condition any more', async () => !(await ledger()).includes('unit_silent open'))
})

async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  await once(socket, 'close')
  return port
}

/** A BACnet/IP client on another address of the loopback, as a foreign device of the router. */
async function ipClient(t: Test, port: number) {
  const socket = createSocket('udp4').bind(0, '127.0.0.2')
  await once(socket, 'listening')
  t.teardown(() => void socket.close())
  const heard: string[] = []
  socket.on('message', (bytes) => heard.push(bytes.toString('hex')))
  const ask = (hex: string) => socket.send(Buffer.from(hex.replaceAll(' ', ''), 'hex'), port, '127.0.0.1')
  const hears = (what: RegExp) => until(String(what), () => heard.some((hex) => what.test(hex)))
  return { ask, heard, hears }
}

/** tshark reads these datagrams as BACnet/IP, without a complaint. */
async function readsWell(t: Test, datagrams: readonly string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bacnet-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'ip.pcap')
  const records = datagrams.map((hex, at) => pcapRecord(at, Buffer.from(hex, 'hex')))
  writeFileSync(file, Buffer.concat([pcapFileHead(LINK_TYPES.modbusRtu), ...records]))
  const dlt = 'uat:user_dlts:"User 0 (DLT=147)","bvlc","0","","0",""'
  const names = ['bvlc.function', 'bvlc.fdt_ttl', '_ws.expert.message', '_ws.malformed']
  const fields = names.flatMap((name) => ['-e', name])
  const { stdout } = await run('tshark', ['-r', file, '-o', dlt, '-T', 'fields', '-E', 'separator=|', ...fields])
  const rows = stdout.trimEnd().split('\n')
  t.equal(rows.length, datagrams.length)
  for (const row of rows) t.match(row, /^0x[0-9a-f]{2}\|\d*\|\|$/)
  t.ok(
    rows.some((row) => row.startsWith('0x07|60|')),
    'the table of foreign devices',
  )
}

t.test('a BACnet/IP client finds the ring behind its router, its devices, and reads one', async (t) => {
  const ip_port = await freeUdpPort()
  const router = { ip_port, ip_listen: '127.0.0.1', ip_broadcast: '127.255.255.255', ip_network: 1, ring_network: 7 }
  const { pty, view } = await ringWith(t, { mac: 1, max_master: 12, ...router })
  const { ask, hears, heard } = await ipClient(t, ip_port)
  await until('the ring is whole', async () => (await view())?.order.join() === '1,4,7,9')
  ask('81 05 0006 003c')
  await hears(/^810000060000$/)
  ask('81 0b 0009 01 80 00 0007')
  await hears(/^810a00090180010007$/)
  ask('81 09 000c 01 20 ffff 00 ff 10 08')
  for (const mac of ['04', '07', '09']) await hears(new RegExp(`^810a00..0128ffff00000701${mac}fe1000c40200`))
  /** On a busy machine the token may come late: it is asked again, in the same words. */
  const reads = (mac: string, value: string) =>
    until(`${mac} says its value`, () => {
      ask(`81 0a 0016 01 24 0007 01 ${mac} ff 02 44 01 0c 0c 00000000 19 55`)
      return heard.some((hex) => hex.includes(`000701${mac}3001`) && hex.endsWith(value))
    })
  await reads('04', '3e4441ac00003f')
  await reads('07', '3e44408000003f')
  ask(`81 0a 000e 01 24 0063 01 04 ff 02 44 01`)
  await hears(/^810a000a018003010063$/)
  ask('81 06 0004')
  await hears(/^8107000e7f000002.{4}003c00/)
  ask('81 02 0004')
  await hears(/^810000060020$/)
  if (noTshark === false) await readsWell(t, [...heard])
  const { counters } = (await gateway.call('GET', gateway.portPath(pty.path))).body
  t.match(counters, { foreignDevices: 1 })
  t.ok(counters.routedToRing >= 3 && counters.routedToIp >= 5, JSON.stringify(counters))
})

t.test('a UDP port that is taken is said, and the port is tried again', async (t) => {
  const taken = createSocket('udp4').bind(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => void taken.close())
  const router = { ip_port: taken.address().port, ip_listen: '127.0.0.1', ip_network: 1, ring_network: 7 }
  const pty = ptyOfFile()
  const put = await gateway.openPort(t, pty.path, {
    ...{ protocol: 'bacnet-mstp', line: { baud: 76_800 }, settings: { mac: 1, ...router } },
  })
  t.match(put, { status: 200, body: { state: 'failed', fault: { code: 'bacnet_ip_refused', message: /EADDRINUSE/ } } })
})

const refused: [object, string, RegExp][] = [
  [{ frameType: 'TOKEN', destination: 4, source: 1, dataHex: '' }, 'bad_send', /break the ring/],
  [{ frameType: 'BACNET', destination: 4, source: 1, dataHex: '' }, 'bad_send', /no frame type "BACNET"/],
  [{ destination: 4 }, 'bad_send', /neither frameHex nor/],
  [{ frameHex: '55 FF 05 04 01 00 00 00' }, 'mstp_header_crc', /CRC-8/],
  [{ frameHex: '55 FF 0G' }, 'bad_hex', /position 8/],
  [{ frameType: 'TEST_REQUEST', destination: 256 }, 'bad_fields', /destination/],
  [{ frameType: 'TEST_REQUEST', destination: 4, nonsense: 1 }, 'bad_fields', /nonsense/],
]

t.test('rest/send: what is no frame is refused, with the reason', async (t) => {
  const { send } = await ringWith(t, { mac: 1, max_master: 12 }, [])
  for (const [body, error, message] of refused)
    t.match(await send(body), { status: 400, body: { error, message } }, JSON.stringify(body))
  t.match(
    await gateway.call('PUT', gateway.portPath('/dev/pts/0'), { protocol: 'bacnet-mstp', settings: { mac: 128 } }),
    {
      status: 400,
      body: { error: 'bad_fields' },
    },
  )
})

t.test('settings.mode listen: the ring is drawn and told, and not a byte is sent', async (t) => {
  const { events, pty, ring, send, view } = await ringWith(t, { mode: 'listen' }, [{ mac: 2 }, { mac: 3 }, { mac: 5 }])
  await until('the ring is drawn', async () => (await view())?.order.join() === '2,3,5')
  t.match(await view(), { mode: 'listen', mac: null, state: 'listening', fault: null })
  t.match(await send({ frameHex: '55 FF 00 10 05 00 00 8C' }), {
    status: 409,
    body: { error: 'wrong_protocol', message: /only listens/ },
  })
  await until('tokens are events', async () =>
    (await events()).some(
      ({ payload }: { payload: { decoded?: { frameType: string } } }) => payload.decoded?.frameType === 'TOKEN',
    ),
  )
  const { counters } = (await gateway.call('GET', gateway.portPath(pty.path))).body
  t.match(counters, { txBytes: 0, txFrames: 0 })
  t.same(ring.heard, [])
})

t.test('bytes that are no frames are events with the reason, and the fault of the port in the end', async (t) => {
  const { events, pty } = await ringWith(t, { mode: 'listen' }, [])
  await pty.write(Buffer.from([0x55, 0xff, 0x00, 0x10, 0x05, 0x00, 0x00, 0x8d]))
  await until('it is told', async () =>
    (await events()).some(
      ({ payload }: { payload: { decodeError?: { code: string } } }) => payload.decodeError?.code === 'mstp_header_crc',
    ),
  )
  await until('a line that babbles is a fault', async () => {
    await pty.write(Buffer.alloc(50, 0x20))
    return (await gateway.call('GET', gateway.portPath(pty.path))).body.fault?.code === 'mstp_no_frames'
  })
})

t.test('tshark reads a capture of a ring without a complaint', { skip: noTshark }, async (t) => {
  const { at, send, view } = await ringWith(t, { mac: 1, max_master: 12 })
  const leave = new AbortController()
  t.teardown(() => leave.abort())
  const headers = { authorization: `Bearer ${gateway.token()}` }
  const response = await fetch(gateway.url + at('/capture.pcap'), { headers, signal: leave.signal })
  let bytes = Buffer.alloc(0)
  const reading = (async () => {
    for await (const part of response.body ?? []) bytes = Buffer.concat([bytes, part])
  })().catch(() => {})
  await until('the ring is whole', async () => (await view())?.order.join() === '1,4,7,9')
  const asking = { frameType: 'BACNET_DATA_EXPECTING_REPLY', source: 1 }
  for (const [at, destination] of [4, 7].entries())
    t.equal((await send({ ...asking, destination, dataHex: readPresentValue(at) })).status, 200)
  const long = { ...asking, frameType: 'BACNET_EXTENDED_DATA_NOT_EXPECTING_REPLY', destination: 4 }
  const filler = Array.from({ length: 600 }, (_, at) => (at % 256).toString(16).padStart(2, '0')).join(' ')
  t.equal((await send({ ...long, dataHex: `01 00 10 04 09 01 1A 00 2E 65 ${filler} 2F` })).status, 200)
  const test = { frameType: 'TEST_REQUEST', destination: 9, source: 1, dataHex: '0A 0B' }
  t.equal((await send(test)).status, 200)
  // The last frames are told within a moment; the page of the ring comes after them.
  await until('the test is captured', () => bytes.includes(Buffer.from('0a0b', 'hex')))
  leave.abort()
  await reading
  const folder = mkdtempSync(join(tmpdir(), 'mstp-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'ring.pcap')
  writeFileSync(file, bytes)
  const names = ['frame.protocols', 'mstp.frame_type', 'mstp.src', 'mstp.dst', '_ws.expert.message']
  const { stdout } = await run('tshark', [
    '-r',
    file,
    '-T',
    'fields',
    '-E',
    'separator=|',
    ...names.flatMap((name) => ['-e', name]),
  ])
  const rows = stdout
    .trim()
    .split('\n')
    .map((row) => row.split('|'))
  t.ok(rows.length > 20)
  const types = new Set<number>()
  for (const [protocols = '', type, , , complaint] of rows) {
    t.match(protocols, /mstp/)
    t.equal(complaint, '')
    types.add(Number(type))
  }
  for (const type of [0, 1, 2, 3, 4, 5, 6, 7, 33]) t.ok(types.has(type), `frames of type ${type}`)
})
