/** Packets over UDP: pairs of ports, one for packets of RTP and the next for its reports. */
import { randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createReception, readSenderReport, type SenderReport } from '../wire/rtcp.ts'

/** Bounds, by the names of their settings. */
export interface UdpLimits {
  /** The first port, and how many: a firewall has to let them in. */
  firstPort: number
  ports: number
  /** What the kernel may hold of one medium while this process is busy. */
  bufferBytes: number
}

interface PairParts {
  clock: Clock
  limits: UdpLimits
  /** Of the camera: what others send is left out. */
  from: string
  ticksPerS: number
  onPacket(bytes: Uint8Array): void
  onReport(report: SenderReport): void
}

/** Two ports that are open. */
export interface RtpPair {
  /** Of the packets; reports come on the next one. */
  port: number
  /** Where the camera takes reports of what came. */
  reportTo(port: number): void
  /** A second time does nothing. */
  close(): void
}

/** As often as senders report. @source RFC 3550, 6.2 */
const REPORT_MS = 5000

const MOST_PORT = 65_535

/** What the kernel may hold of reports, and of sound. */
export const SMALL_BUFFER_BYTES = 65_536

/** @throws Fault `no_udp_port` if every pair is in use */
export async function openRtpPair(parts: PairParts): Promise<RtpPair> {
  const { limits } = parts
  const first = limits.firstPort + (limits.firstPort % 2)
  const pairs = Math.floor(Math.min(limits.ports, MOST_PORT + 1 - first) / 2)
  // Not always the same: a camera that still sends to a session of before would be heard in the next.
  const begin = randomBytes(4).readUInt32BE() % pairs
  for (let at = 0; at < pairs; at++) {
    const port = first + 2 * ((begin + at) % pairs)
    const media = await bound(parts, port, limits.bufferBytes)
    const reports = media && (await bound(parts, port + 1, SMALL_BUFFER_BYTES))
    if (media && reports) return pairOf(parts, { media, reports, port })
    media?.close()
  }
  throw new Fault('no_udp_port', `All ${pairs} pairs of ports from ${first} on are in use. Raise cameras.udp_ports.`)
}

function bound({ from }: PairParts, port: number, recvBufferSize: number): Promise<Socket | undefined> {
  const { promise, resolve } = Promise.withResolvers<Socket | undefined>()
  const socket = createSocket({ type: isIPv6(from) ? 'udp6' : 'udp4', recvBufferSize })
  socket.once('error', () => {
    socket.close()
    resolve(undefined)
  })
  socket.bind(port, () => {
    socket.removeAllListeners('error')
    // Such as that a port of the camera is closed: the next report says more.
    socket.on('error', () => {})
    resolve(socket)
  })
  return promise
}

function pairOf(
  { clock, from, onPacket, onReport, ticksPerS }: PairParts,
  { media, port, reports }: { media: Socket; reports: Socket; port: number },
): RtpPair {
  const reception = createReception(randomBytes(4).readUInt32BE(), ticksPerS)
  let reportPort: number | undefined
  let isClosed = false
  media.on('message', (bytes, { address }) => {
    if (address !== from) return
    reception.packet(bytes, clock.monotonicMs())
    onPacket(bytes)
  })
  reports.on('message', (bytes, { address }) => {
    const report = address === from ? readSenderReport(bytes) : undefined
    if (!report) return
    reception.reported(report, clock.monotonicMs())
    onReport(report)
  })
  const reporting = clock.every(REPORT_MS, () => {
    const report = reception.report(clock.monotonicMs())
    if (report && reportPort !== undefined) reports.send(report, reportPort, from)
  })
  return {
    port,
    reportTo(port) {
      reportPort = port
    },
    close() {
      if (isClosed) return
      isClosed = true
      reporting.cancel()
      media.close()
      reports.close()
    },
  }
}
