/** The real board, and clients that send more than a slow line can take, leave, and come again. */
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { forgetMost, mostResidentMb } from '#kit/test/process-memory.ts'
import { until } from '#kit/test/until.ts'
import { client, type Heard, type SerialRig, serialRig } from './serial-rig.ts'

const FLOOD_MS = 4000
/** Clients of a port that come at once, and how often. */
const AT_ONCE = 8
const EVERY_MS = 40
const SENT = Buffer.alloc(150_000, 'x')
/** What the device takes in a second; the board knows of 9600 bit/s. */
const TAKEN_PER_S = 9600
/** Measured: 10 to 20. Without a limit for bytes left behind it was 10 and more for each second. */
const MOST_GROWTH_MB = 48

/** @returns what ends it */
function flood(port: number): () => number {
  const sockets: Socket[] = []
  const timer = setInterval(() => {
    for (let at = 0; at < AT_ONCE; at++) {
      const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {})
      socket.end(SENT)
      // One in two is cut off, the others close as people do.
      if (at % 2 === 0) setTimeout(() => socket.destroy(), EVERY_MS).unref()
      sockets.push(socket)
    }
  }, EVERY_MS)
  return () => {
    clearInterval(timer)
    for (const socket of sockets) socket.destroy()
    return sockets.length
  }
}

/** Tries until it has a place. */
async function comesIn(t: Test, rig: SerialRig, address: string): Promise<Heard> {
  let come: Heard | undefined
  await until(`the next of ${address} has a place`, async () => {
    const next = await client(t, rig.ports[0] ?? 0, '127.0.0.1', address)
    const { clients } = await rig.port()
    if (clients.some(({ client_port }: { client_port: number }) => client_port === next.socket.localPort)) come = next
    else next.socket.destroy()
    return come !== undefined
  })
  return come as Heard
}

async function flooded(t: Test, mode: 'raw' | 'rfc2217'): Promise<void> {
  const sets = ['serial.left_ms=1000', 'serial.slow_client_ms=500']
  const rig = await serialRig(t, [mode], { sets })
  const [device] = rig.devices
  const [port = 0] = rig.ports
  await rig.set({ baud: 9600 })
  t.match(await rig.port(), { state: 'open', fault: null, baud: 9600 })
  let got = ''
  device?.onBytesAt(TAKEN_PER_S, (bytes) => (got += Buffer.from(bytes).toString('latin1').replaceAll('x', '')))
  const beforeMb = forgetMost(rig.pid)

  const end = flood(port)
  t.teardown(end)
  await new Promise((resolve) => setTimeout(resolve, FLOOD_MS / 2))
  const other = await client(t, port, '127.0.0.1', '127.0.0.2')
  other.socket.write('OTHER')
  await new Promise((resolve) => setTimeout(resolve, FLOOD_MS / 2))
  await until('the line has what another address sent', () => got.includes('OTHER'), 30_000)
  const growthMb = mostResidentMb(rig.pid) - beforeMb
  const { counters } = await rig.port()
  const came = end()
  t.comment(`${came} clients, ${growthMb.toFixed(0)} MB more; ${JSON.stringify(counters)}`)
  t.ok(came >= 100, `${came} clients came`)
  t.ok(growthMb < MOST_GROWTH_MB, `${growthMb} MB`)
  t.ok(counters.bytes_discarded > 0, 'bytes left behind beyond the limit are dropped, and counted')

  // The end of many clients is behind bytes that their kernel still holds: nobody can see it, but one after another makes room.
  await comesIn(t, rig, '127.0.0.1')
  const next = await comesIn(t, rig, '127.0.0.3')
  next.socket.write('NEXT')
  other.socket.write('AGAIN')
  await until(
    'addresses that did not flood continue as before',
    () => got.includes('AGAIN') && got.includes('NEXT'),
    30_000,
  )
  t.equal(other.isClosed, false)
}

for (const mode of ['raw', 'rfc2217'] as const)
  t.test(`B.serial.${mode} clients that send 150 kB, leave and come again: memory, places and turns are bounded`, (t) =>
    flooded(t, mode),
  )
