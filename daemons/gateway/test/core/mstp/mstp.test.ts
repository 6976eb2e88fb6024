/** The adapter of an MS/TP line: what its port shows, says and does, with a thread that a test plays. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { fakeOpener, plainLine } from '#kit/test/line/fake-line.ts'
import { Port } from '../../../core/lines/port.ts'
import { requireFace } from '../../../core/lines/port-registry.ts'
import type { FramePayload } from '../../../core/lines/ports.ts'
import { createMstpAdapter, type MstpLine, type MstpWorld, mstpProtocol } from '../../../core/mstp/mstp.ts'
import type { MstpSettings } from '../../../core/mstp/settings.ts'
import { encodeMstpFrame, type MstpFrame } from '../../../wire/mstp/frame.ts'
import { act } from '../act.ts'
import { cable, settingsWith } from './cable.ts'

const path = '/dev/ttyUSB0'

function portWith(changes: Partial<MstpSettings> = {}, opens: () => Fault | undefined = () => undefined) {
  const clock = fakeClock()
  const events: { event: string; payload: unknown }[] = []
  const publish = (event: string, payload: unknown) => void events.push({ event, payload })
  const sent: MstpFrame[] = []
  const told: { opening?: Parameters<MstpWorld['openMstp']>[0]; lose?: (fault: Fault) => void; closed: number } = {
    closed: 0,
  }
  const ip: {
    opening?: Parameters<MstpWorld['openBacnetIp']>[0]
    said: { to: string; bytes: Uint8Array }[]
    closed: number
  } = { said: [], closed: 0 }
  const reply = { frameType: 6, source: 9, destination: 3, data: Uint8Array.of(1, 0, 0x20, 7, 15) }
  const world: MstpWorld = {
    async openBacnetIp(opening) {
      ip.opening = opening
      return {
        sendTo: (peer, bytes) => void ip.said.push({ to: `${peer.host}:${peer.port}`, bytes }),
        sendToAll: (bytes) => void ip.said.push({ to: 'all', bytes }),
        close: async () => void ip.closed++,
      }
    },
    async openMstp(opening) {
      const fault = opens()
      if (fault) throw fault
      told.opening = opening
      const line: MstpLine = {
        ...{ unsupported: [], driverCounts: () => null, settle() {} },
        onGone(handler) {
          told.lose = handler
        },
        close: async () => void told.closed++,
        async send(frame) {
          sent.push(frame)
          return { waitedMs: 12, reply, tookMs: 34, isPostponed: true }
        },
      }
      return line
    },
  }
  const settings = settingsWith({ mac: 3, ...changes })
  const whyNotOpen = () => port.whyNotOpen()
  const context = { port: path, lineSettings: plainLine, clock, whyNotOpen, publish }
  const adapter = createMstpAdapter(context, settings, world)
  const opener = fakeOpener(() => new Fault('line_refused', 'the port opens no line itself'))
  const port: Port = new Port({
    ...{ path, line: plainLine, adapter, opener, clock, publish },
    retry: { firstMs: 100, maxMs: 100 },
  })
  return { adapter, clock, events, ip, port, sent, told }
}

/** What a thread tells of a node that has heard nothing. */
const health = () => {
  const { node } = cable().attach({ mac: 3 })
  return { counters: node.counters(), view: node.view(), driver: null, realtime: { priority: 20, refusal: null } }
}

t.test('its line is opened, lost, and opened again by its thread', async (t) => {
  const { clock, port, told } = portWith()
  t.equal(await port.open(), 'open')
  t.match(told.opening, { path, line: plainLine, settings: { mac: 3 } })
  told.lose?.(new Fault('line_gone', 'unplugged'))
  t.equal(port.life().state, 'absent')
  await clock.run(150)
  t.equal(port.life().state, 'open')
  await port.close()
  t.equal(told.closed, 2)
})

t.test('a line that cannot be opened is the fault of its port', async (t) => {
  const { port } = portWith({}, () => new Fault('line_absent', 'it is not there'))
  t.equal(await port.open(), 'absent')
  await t.rejects(act(port.adapter, 'send', { frameType: 'TEST_REQUEST', destination: 1 }), { code: 'line_absent' })
  await port.close()
})

t.test('A.endpoints rest/send sends the frame and answers with the reply', async (t) => {
  const { port, sent } = portWith()
  await port.open()
  const body = { frameType: 'BACNET_DATA_EXPECTING_REPLY', destination: 9, source: 3, dataHex: '01 04 00 05 07 0F' }
  t.same(await act(port.adapter, 'send', body), {
    ...{ sent: 16, frameType: 'BACNET_DATA_EXPECTING_REPLY', destination: 9, source: 3, waitedMs: 12, tookMs: 34 },
    postponed: true,
    reply: {
      ...{ frameType: 'BACNET_DATA_NOT_EXPECTING_REPLY', destination: 3, source: 9, dataHex: '01 00 20 07 0F' },
      bacnet: { pdu: 'simple-ack', invokeId: 7, service: 'write-property' },
    },
  })
  t.match(sent, [{ frameType: 5, destination: 9, source: 3 }])
  await port.close()
  await t.rejects(act(port.adapter, 'send', body), { code: 'line_closed' })
})

t.test('each frame is an event with what it says; what is none, too', async (t) => {
  const { events, port, told } = portWith()
  await port.open()
  const whoIs = encodeMstpFrame({
    frameType: 6,
    source: 4,
    destination: 255,
    data: Uint8Array.of(1, 0x20, 255, 255, 0, 255, 16, 8),
  })
  told.opening?.onSeen([
    { direction: 'rx', bytes: whoIs, atUs: 1000.4 },
    { direction: 'rx', bytes: Uint8Array.of(1, 2), atUs: 2000, fault: { code: 'mstp_noise', message: '2 bytes' } },
  ])
  const payloads = events
    .filter(({ event }) => event === 'frame')
    .map(({ payload }) => (payload as () => FramePayload)())
  t.match(payloads, [
    {
      ...{ direction: 'rx', monotonicUs: 1000, length: 18 },
      decoded: {
        ...{ kind: 'frame', frameType: 'BACNET_DATA_NOT_EXPECTING_REPLY', source: 4, destination: 255 },
        ...{ pdu: 'unconfirmed-request', service: 'who-is', to: '65535:' },
      },
    },
    { hex: '01 02', decoded: null, decodeError: { code: 'mstp_noise' } },
  ])
  await port.close()
})

t.test('settings.frames data leaves tokens and polls out of the events, and nothing else', async (t) => {
  const { events, port, told } = portWith({ frames: 'data' })
  await port.open()
  const seen = (frameType: number) => {
    const data = new Uint8Array(0)
    const bytes = encodeMstpFrame({ frameType, source: 4, destination: 5, data })
    return { direction: 'rx' as const, bytes, atUs: 0 }
  }
  told.opening?.onSeen([0, 1, 2, 3, 5, 6, 7].map(seen))
  t.equal(events.filter(({ event }) => event === 'frame').length, 4)
  await port.close()
})

t.test('a listener has no rest/send, and says why', async (t) => {
  const { port } = portWith({ mode: 'listen' })
  await port.open()
  await t.rejects(act(port.adapter, 'send', { frameHex: '55' }), { code: 'wrong_protocol', message: /only listens/ })
  await port.close()
})

t.test('the port shows counters, the ring and what is wrong with it', async (t) => {
  const { events, port, told } = portWith()
  const { view } = requireFace(port, 'ring')
  t.equal(view(), null)
  await port.open()
  const fault = { code: 'mstp_duplicate_mac', message: 'Another node has address 3 too.' }
  told.opening?.onHealth({ ...health(), view: { ...health().view, fault } })
  told.opening?.onFault(new Fault('mstp_token_lost', 'the token is lost'))
  t.match(view(), { mode: 'node', mac: 3, state: 'idle', nodes: [], rotationMs: null })
  t.match(port.counters(), { rxFrames: 0, crcErrors: 0 })
  t.match(port.life().fault, fault)
  t.match(
    events.find(({ event }) => event === 'error'),
    { payload: { code: 'mstp_token_lost' } },
  )
  await port.close()
})

t.test('nodes that leave are events and counts of the port, and a line without anybody else its fault', async (t) => {
  const { adapter, clock, events, port, told } = portWith({ node_gone_ms: 1000 })
  const on = cable()
  const { node } = on.attach({ mac: 3, max_master: 8 })
  const other = on.attach({ mac: 7, max_master: 8 })
  await port.open()
  const pass = (ms: number) => {
    for (let at = 0; at < ms; at += 200) {
      on.clock.advance(200)
      clock.advance(200)
      told.opening?.onHealth({ ...health(), counters: node.counters(), view: node.view() })
    }
  }
  pass(3000)
  t.same(adapter.faces?.nodes?.states(), { well: 1 })
  t.equal(port.life().fault, null)
  other.isOff = true
  pass(2000)
  t.same(adapter.faces?.nodes?.list(), [{ unitId: 7, state: 'silent' }])
  t.match(port.life().fault, { code: 'mstp_alone', message: /node 7 is gone/ })
  const last = (name: string) => events.findLast(({ event }) => event === name)?.payload
  t.match(last('port'), { state: 'open', previous: 'open', fault: { code: 'mstp_alone' } })
  t.match(last('unit'), { unitId: 7, state: 'silent', previous: 'well' })
  other.isOff = false
  pass(5000)
  t.match(last('port'), { state: 'open', previous: 'open', fault: null })
  t.match(last('unit'), { unitId: 7, state: 'well', previous: 'silent' })
  t.equal(port.life().fault, null)
  await port.close()
  t.same(adapter.faces?.nodes?.list(), [])
})

t.test('the ring says whether its thread has the priority that the token needs', async (t) => {
  const { port, told } = portWith()
  await port.open()
  const { view } = requireFace(port, 'ring')
  const tell = (priority: number, refusal: string | null) =>
    told.opening?.onHealth({ ...health(), realtime: { priority, refusal } })
  tell(20, null)
  t.match(view()?.realtime, { granted: true, text: /with real-time priority 20/ })
  tell(20, 'EPERM')
  t.match(view()?.realtime, { granted: false, text: /refuses real-time priority \(EPERM\).*LimitRTPRIO/ })
  tell(0, null)
  t.match(view()?.realtime, { granted: false, text: /switched off \(mstp.realtime_priority\)/ })
  await port.close()
})

t.test('a router passes between the ring and BACnet/IP while its line is open, and counts', async (t) => {
  const settings = { ip_port: 47_808, ip_network: 1, ring_network: 7 }
  const { ip, port, sent, told } = portWith(settings)
  await port.open()
  t.match(ip.opening, { host: '0.0.0.0', port: 47_808, broadcast: '255.255.255.255' })
  t.match(ip.said, [{ to: 'all' }], 'it says which network is here')
  const iAm = Uint8Array.of(1, 0x20, 0xff, 0xff, 0, 0xff, 0x10, 0)
  const bytes = encodeMstpFrame({ frameType: 6, source: 9, destination: 255, data: iAm })
  told.opening?.onSeen([{ direction: 'rx', bytes, atUs: 0 }])
  t.same(
    Buffer.from(ip.said[1]?.bytes ?? []).toString('hex'),
    '810b0010' + '0128' + 'ffff00' + '0007' + '01' + '09' + 'fe' + '1000',
    'from network 7, address 9',
  )
  const whoIs = Buffer.from('810b000c' + '0120ffff00ff' + '1008', 'hex')
  ip.opening?.onDatagram(whoIs, { host: '192.0.2.5', port: 47_808 })
  t.match(sent, [{ destination: 255, source: 3, frameType: 6 }])
  t.match(port.counters(), { routedToIp: 2, routerDrops: 0, foreignDevices: 0 })
  await port.close()
  t.equal(ip.closed, 1)
})

t.test('a router needs the numbers of both networks, and a node to send with', async (t) => {
  const fieldsOf = (changes: Partial<MstpSettings>) =>
    mstpProtocol.faults?.(settingsWith(changes)).map(({ field }) => field)
  t.same(fieldsOf({ ip_port: 47_808 }), ['ring_network', 'ip_network'])
  t.same(fieldsOf({ ip_port: 47_808, ip_network: 5, ring_network: 5 }), ['ring_network'])
  t.same(fieldsOf({ ip_port: 47_808, ip_network: 5, ring_network: 6, mode: 'listen' }), ['ip_port'])
  t.same(fieldsOf({ ip_port: 47_808, ip_network: 5, ring_network: 6 }), [])
})

t.test('a line that is lost or closed shows no ring, and what was wrong with it no longer', async (t) => {
  const { clock, port, told } = portWith()
  const { view } = requireFace(port, 'ring')
  const fault = { code: 'mstp_duplicate_mac', message: 'Another node has address 3 too.' }
  const tell = () => told.opening?.onHealth({ ...health(), view: { ...health().view, fault } })
  await port.open()
  tell()
  t.match(view(), { mac: 3 })
  told.lose?.(new Fault('line_gone', 'unplugged'))
  t.equal(view(), null)
  t.match(port.life().fault, { code: 'line_gone' })
  t.match(port.counters(), { rxFrames: 0 }, 'its counts stay')
  await clock.run(150)
  tell()
  t.match(view(), { mac: 3 })
  await port.close()
  t.equal(view(), null)
  t.equal(port.life().fault, null)
})

t.test('an address beyond max_master is refused: nobody would look for it', async (t) => {
  t.match(mstpProtocol.faults?.(settingsWith({ mac: 20, max_master: 10 })), [{ field: 'mac', message: /max_master/ }])
  t.same(mstpProtocol.faults?.(settingsWith({ mac: 10, max_master: 10 })), [])
  t.same(mstpProtocol.faults?.(settingsWith({ mac: 20, max_master: 10, mode: 'listen' })), [])
})
