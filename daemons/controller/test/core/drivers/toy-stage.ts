/** Device 1 with zone 1, behind the host and real sockets, by default a toy amplifier; read as by the REST surface. */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { answerData } from '../../../core/data/answer-data.ts'
import type { Driver, Framing } from '../../../core/drivers/driver.ts'
import { Drivers } from '../../../core/drivers/host.ts'
import { bodyText, type Json } from '../../../core/json.ts'
import { LiveState } from '../../../core/live/live-book.ts'
import type { Row } from '../../../core/site/book.ts'
import { createDriverWorld } from '../../../io/driver-world.ts'
import { elevatedCaller, worldOf } from '../data/data-house.ts'
import { bookOf } from '../site/book-of.ts'
import { LIMITS, WORLD_LIMITS } from './host-stage.ts'
import { createToyDriver } from './toy-driver.ts'

interface ToyForm {
  transport: Readonly<Record<string, Json>>
  device?: Readonly<Record<string, Json>>
  limits?: Partial<typeof WORLD_LIMITS>
  framing?: Framing
  /** The driver under test. */
  driver?: Driver
  zone?: Readonly<Record<string, Json>>
  /** Values that its zone may have. */
  fields?: number
}

export function toyStage(t: Test, { transport, device = {}, zone: more = {}, limits = {}, ...given }: ToyForm) {
  const driver = given.driver ?? createToyDriver(given.framing)
  const rows = {
    device: [{ id: 1, name: 'Amp', driver: driver.name, transport, ...device }],
    zone: [{ id: 1, name: 'Hall', device_id: 1, ...more }],
  }
  const book = bookOf(rows)
  const live = new LiveState(systemClock, { fields: given.fields ?? 16, fieldChars: 512, totalChars: 65_536 })
  const said: string[] = []
  const log = { info: (_event: string, { sentence }: { sentence: string }) => void said.push(sentence) } as never
  const bounds = { ...WORLD_LIMITS, logEveryMs: 1, ...limits }
  const world = createDriverWorld({ clock: systemClock, log, chance: () => 0, limits: bounds })
  const host = new Drivers({
    ...{ book, live, world, drivers: [driver] },
    limits: { ...LIMITS, retryFirstMs: 20, pollMinMs: 20, answerChars: 4096 },
  })
  t.teardown(() => host.close())
  host.refresh()

  /** GET /api/data/zone?_instance=true: the first row. */
  function reading(): Record<string, Json> {
    const outcome = answerData(
      worldOf(rows as never, { zones: { 1: live.zone(1) }, devices: { 1: live.device(1) } }),
      elevatedCaller,
      'zone',
      '_instance=true',
    )
    if (outcome instanceof Promise) throw new Error('no rows')
    return JSON.parse(bodyText(outcome.body))[0]
  }
  const zone = book.row('zone', 1) as Row
  return {
    /** Opens the device anew, as a changed row does. */
    reopen() {
      book.set('device', [{ ...(book.row('device', 1) as Row), name: 'Amp, again' }])
      host.refresh()
    },
    live,
    host,
    said,
    reading,
    command: (verb: string, args: Readonly<Record<string, Json>> = {}) => host.execute(1, { zone, verb, args }),
    turn: (volume: number) => host.execute(1, { zone, verb: 'volume', args: { volume } }),
  }
}

/** An amplifier at a loopback port. @param answer its reaction to each line; by default it obeys */
export async function toyAmp(t: Test, answer = (socket: Socket, _line: string) => void socket.write('OK\r\n')) {
  const sockets = new Set<Socket>()
  const lines: string[] = []
  const met: ((socket: Socket) => void)[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.setEncoding('latin1').on('data', (text: string) => {
      for (const line of text.split('\r\n').filter((one) => one !== '')) {
        lines.push(line)
        answer(socket, line)
      }
    })
    for (const meet of met) meet(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    lines,
    /** @param meet handles every connection from now on */
    onMeet: (meet: (socket: Socket) => void) => void met.push(meet),
    say(text: string | Uint8Array) {
      for (const socket of sockets) socket.write(text)
    },
  }
}

/** The same over UDP: it remembers everybody who has sent it something. */
export async function toyUdpAmp(t: Test) {
  const socket = createSocket('udp4')
  const lines: string[] = []
  let peer: RemoteInfo | undefined
  socket.on('message', (bytes, from) => {
    peer = from
    lines.push(bytes.toString().trimEnd())
    if (bytes.toString().startsWith('VOL=')) socket.send('OK\r\n', from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => void socket.close())
  return {
    port: socket.address().port,
    lines,
    say(text: string) {
      if (peer) socket.send(text, peer.port, peer.address)
      return peer !== undefined
    },
  }
}
