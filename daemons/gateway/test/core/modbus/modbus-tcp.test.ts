import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { fakeLine, plainLine } from '#kit/test/line/fake-line.ts'
import type { TcpHouse } from '../../../core/lines/tcp.ts'
import { createModbusMaster } from '../../../core/modbus/master.ts'
import { tcpSettingsFaults, withModbusTcp } from '../../../core/modbus/tcp.ts'
import { mbapFrame } from '../../../wire/mbap.ts'
import { whyNotOpen } from './line-of-others.ts'
import { settingsWith } from './modbus-line.ts'
import { modbusRtu } from './rtu.ts'

/** A line with a TCP port that opens while `isFree`. */
function lineHere(tcpPort = 502) {
  const clock = fakeClock()
  const events: [string, unknown][] = []
  const settings = settingsWith({ tcp_port: tcpPort })
  const context = {
    port: '/dev/ttyTEST',
    lineSettings: plainLine,
    whyNotOpen,
    clock,
    publish: (event: string, payload: unknown) => void events.push([event, payload]),
  }
  const tcp = { isFree: true, isOpen: false, settings: {}, house: undefined as TcpHouse | undefined }
  const master = createModbusMaster(context, settings, modbusRtu)
  const adapter = withModbusTcp(master, {
    clock,
    settings,
    publish: context.publish,
    retry: { firstMs: 100, maxMs: 100 },
    async openModbusTcp(wanted, house) {
      if (!tcp.isFree) throw new Fault('tcp_port_taken', 'TCP port 502 is taken.')
      Object.assign(tcp, { isOpen: true, settings: wanted, house })
      return {
        async close() {
          tcp.isOpen = false
        },
      }
    },
  })
  return { adapter, clock, events, line: fakeLine(), master, tcp }
}

t.test('a port without tcp_port is the master and nothing more', async (t) => {
  const { adapter, master } = lineHere(0)
  t.equal(adapter, master)
})

t.test('the TCP port is open while the line is', async (t) => {
  const { adapter, clock, line, tcp } = lineHere()
  await clock.run(10)
  t.equal(tcp.isOpen, false)
  adapter.attach(line)
  await clock.run(10)
  t.match(tcp, { isOpen: true, settings: { port: 502, maxClients: 8 } })
  t.match(adapter.counters(), { requests: 0, tcpClients: 0, tcpRequests: 0 })
  await adapter.detach()
  t.equal(tcp.isOpen, false)
})

t.test('a client that waits when the line closes gets its refusal before it is disconnected', async (t) => {
  const { adapter, clock, line, tcp } = lineHere()
  adapter.attach(line)
  await clock.run(10)
  const told: Uint8Array[] = []
  const wasOpen: boolean[] = []
  const client = tcp.house?.onClient({
    address: '192.0.2.7',
    waitingBytes: 0,
    send(bytes) {
      told.push(bytes)
      wasOpen.push(tcp.isOpen)
    },
    pause() {},
    resume() {},
    end() {},
  })
  client?.onBytes(mbapFrame({ transactionId: 1, body: Uint8Array.of(1, 3, 0, 0, 0, 1) }))
  t.match(adapter.counters(), { tcpClients: 1 })
  await adapter.detach()
  t.strictSame(told, [mbapFrame({ transactionId: 1, body: Uint8Array.of(1, 0x83, 10) })])
  t.strictSame(wasOpen, [true])
  client?.onClosed()
  t.match(adapter.counters(), { tcpClients: 0 })
})

t.test('a TCP port that is taken is a fault of the port, reported once, until it is free', async (t) => {
  const { adapter, clock, events, line, tcp } = lineHere()
  tcp.isFree = false
  adapter.attach(line)
  await clock.run(1000)
  t.match(adapter.fault?.(), { code: 'tcp_port_taken' })
  t.match(events, [['error', { code: 'tcp_port_taken' }]])
  tcp.isFree = true
  await clock.run(100)
  t.equal(adapter.fault?.(), undefined)
  t.equal(tcp.isOpen, true)
  await adapter.detach()
})

t.test('disconnected clients are counted by reason', async (t) => {
  const { adapter, clock, line, tcp } = lineHere()
  adapter.attach(line)
  await clock.run(10)
  for (const why of ['full', 'full', 'malformed', 'slow', 'idle', 'idle', 'idle'] as const) tcp.house?.onLetGo(why)
  t.match(adapter.counters(), { tcpRefused: 2, tcpMalformed: 1, tcpCutOff: 1, tcpIdle: 3 })
  await adapter.detach()
})

t.test('a TCP port needs mode master: the other modes have no units to ask', async (t) => {
  for (const mode of ['slave', 'listen'] as const) {
    t.match(tcpSettingsFaults({ mode, tcp_port: 502 }), [{ field: 'tcp_port', message: new RegExp(`502.*${mode}`) }])
    t.strictSame(tcpSettingsFaults({ mode, tcp_port: 0 }), [])
  }
  t.strictSame(tcpSettingsFaults({ mode: 'master', tcp_port: 502 }), [])
})
