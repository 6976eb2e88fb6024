/** The protocol bacnet-mstp: a line with a node of a ring on it, or a listener, served by a thread of its own. */
import type { Clock } from '#kit/clock.ts'
import type { DriverCounts, LineSettings } from '#kit/line/line.ts'
import { hexOf } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  BROADCAST,
  encodeMstpFrame,
  FRAME_TYPES,
  frameOfSend,
  frameTypeName,
  type MstpFrame,
  type MstpSend,
  readMstpFrame,
} from '../../wire/mstp/frame.ts'
import { type Npdu, npduOf } from '../../wire/mstp/npdu.ts'
import { LINK_TYPES } from '../../wire/pcap.ts'
import type { Adapter, AdapterContext, HeldLine, Protocol } from '../lines/adapter.ts'
import { framePayload } from '../lines/events.ts'
import { mstpHunt } from './hunt.ts'
import type { NodeView, SeenBytes } from './node.ts'
import type { SendOutcome } from './requests.ts'
import { RingWatch } from './ring-watch.ts'
import { type IpPeer, MstpRouter } from './router.ts'
import { type MstpSettings, mstpSettings, mstpSettingsFaults } from './settings.ts'

/** How a line does, as its thread tells it now and then. */
export interface MstpHealth {
  counters: Record<string, number>
  view: NodeView
  driver: DriverCounts | null
  /** Of its thread; `refusal`: why the system does not give it. */
  realtime: { priority: number; refusal: string | null }
}

interface MstpOpening {
  path: string
  line: LineSettings
  settings: MstpSettings
  onSeen(list: readonly SeenBytes[]): void
  onHealth(health: MstpHealth): void
  onFault(fault: Fault): void
}

/** A line in the thread of MS/TP, with a node on it. */
export interface MstpLine extends HeldLine {
  /** @throws Fault `queue_full`, `mstp_reply_owed`, `mstp_no_token`, `mstp_timeout` and others of `send` */
  send(frame: MstpFrame, signal: AbortSignal): Promise<SendOutcome>
}

/** The socket of BACnet/IP, for one ring. What cannot be sent at once is lost. */
export interface BacnetIpSocket {
  sendTo(peer: IpPeer, bytes: Uint8Array): void
  sendToAll(bytes: Uint8Array): void
  close(): Promise<void>
}

interface BacnetIpOpening {
  host: string
  port: number
  /** Where all on the network are reached. */
  broadcast: string
  onDatagram(bytes: Uint8Array, peer: IpPeer): void
}

/** What the protocol needs from outside. */
export interface MstpWorld {
  /** @throws Fault `bacnet_ip_refused` */
  openBacnetIp(opening: BacnetIpOpening): Promise<BacnetIpSocket>
  /** @throws Fault as `LineOpener`, and `mstp_thread_ended` */
  openMstp(opening: MstpOpening): Promise<MstpLine>
}

/** A frame as answers show it. */
interface FrameView {
  frameType: string
  destination: number
  source: number
  dataHex: string
  /** What the data say; null where they are no BACnet message. */
  bacnet: Npdu | null
}

/** Answer of `rest/send`. Times are milliseconds. */
interface SendAnswer {
  /** Bytes on the line. */
  sent: number
  frameType: string
  destination: number
  source: number
  waitedMs: number
  /** Null if none is expected. */
  reply: FrameView | null
  tookMs: number | null
  postponed: boolean
}

interface RingView extends NodeView {
  mode: MstpSettings['mode']
  mac: number | null
  realtime: { granted: boolean; text: string }
}

/** The map of the ring and how it does; null while the line is not open, and until it was for a moment. */
export interface RingFace {
  view(): RingView | null
}

declare module '../lines/adapter.ts' {
  interface AdapterActions {
    send?(body: MstpSend, signal: AbortSignal): Promise<SendAnswer>
  }
  interface AdapterFaces {
    ring?: RingFace
  }
}

export const mstpProtocol: Protocol<MstpWorld> = {
  settings: mstpSettings,
  linkType: LINK_TYPES.mstp,
  hunt: mstpHunt,
  faults: (settings) => mstpSettingsFaults(settings as MstpSettings),
  make: ({ settings }, context, world) => createMstpAdapter(context, settings as MstpSettings, world),
}

/** Frames that only keep the ring going. */
const OF_THE_RING: readonly number[] = [
  FRAME_TYPES.TOKEN,
  FRAME_TYPES.POLL_FOR_MASTER,
  FRAME_TYPES.REPLY_TO_POLL_FOR_MASTER,
]

/** @param settings with every default filled in */
export function createMstpAdapter(context: AdapterContext, settings: MstpSettings, world: MstpWorld): Adapter {
  const { clock, lineSettings, port, publish, whyNotOpen } = context
  const isNode = settings.mode === 'node'
  const own = isNode ? settings.mac : null
  let line: MstpLine | undefined
  let health: MstpHealth | undefined
  let route: Route | undefined
  const watch = new RingWatch({
    ...{ own, goneMs: settings.node_gone_ms },
    onNode: (payload) => publish('unit', payload),
    onAlone: (fault) => publish('port', { state: 'open', previous: 'open', fault: fault ? shownOf(fault) : null }),
  })

  const lineNow = () => {
    if (!line) throw whyNotOpen()
    return line
  }

  function seen(list: readonly SeenBytes[]): void {
    for (const one of list) {
      const { atUs, bytes, direction, fault } = one
      if (direction === 'rx' && !fault) route?.heard(bytes)
      if (settings.frames === 'data' && !fault && OF_THE_RING.includes(bytes[2] ?? 0)) continue
      const reading = () => (fault ? { decoded: null, decodeError: fault } : { decoded: decodedOf(bytes) })
      publish('frame', () => framePayload({ direction, frame: bytes, atUs }, reading()), 2 * bytes.length)
    }
  }

  return {
    ...(isNode && { actions: { send: (body, signal) => sendFrame(body, signal, { mac: settings.mac, lineNow }) } }),
    faces: {
      ring: {
        view() {
          if (!line || !health) return null
          const nodes = health.view.nodes.filter(({ mac }) => !watch.isForgotten(mac))
          return { mode: settings.mode, mac: own, ...health.view, nodes, realtime: realtimeView(health.realtime) }
        },
      },
      nodes: watch,
    },
    async openLine() {
      health = undefined
      line = await world.openMstp({
        ...{ path: port, line: lineSettings, settings, onSeen: seen },
        onHealth(told) {
          health = told
          watch.look(told.view.nodes, clock.monotonicMs())
        },
        onFault: (fault) => publish('error', shownOf(fault)),
      })
      if (settings.ip_port > 0) route = await openRoute(settings, line, { clock, world })
      return line
    },
    // The thread has the line.
    attach() {},
    async detach() {
      line = undefined
      watch.reset()
      const closing = route?.close()
      route = undefined
      await closing
    },
    whyNoAction: (action) =>
      isNode || action !== 'send'
        ? `${port} speaks bacnet-mstp, which has rest/send and no rest/${action}.`
        : `${port} only listens (settings.mode is listen), so rest/send is refused: nothing is ever sent.`,
    counters: () => ({ ...health?.counters, ...route?.counts() }),
    fault() {
      const fault = line && health?.view.fault
      return fault ? new Fault(fault.code, fault.message) : watch.alone
    },
  }
}

async function sendFrame(
  body: MstpSend,
  signal: AbortSignal,
  { lineNow, mac }: { mac: number; lineNow(): MstpLine },
): Promise<SendAnswer> {
  const frame = frameOfSend(body, mac)
  const bytes = encodeMstpFrame(frame)
  const { isPostponed, reply, tookMs, waitedMs } = await lineNow().send(frame, signal)
  const { destination, frameType, source } = frame
  const head = { sent: bytes.length, frameType: frameTypeName(frameType), destination, source }
  return { ...head, waitedMs, reply: reply && viewOf(reply), tookMs, postponed: isPostponed }
}

/** The way between a line and BACnet/IP while both are open. */
interface Route {
  heard(bytes: Uint8Array): void
  counts(): Record<string, number>
  close(): Promise<void>
}

/** Closes the line if the socket does not open. */
async function openRoute(
  settings: MstpSettings,
  line: MstpLine,
  { clock, world }: { clock: Clock; world: MstpWorld },
): Promise<Route> {
  const ended = new AbortController()
  const { ip_network: ipNetwork, mac, queue, ring_network: ringNetwork } = settings
  const opening = { host: settings.ip_listen, port: settings.ip_port, broadcast: settings.ip_broadcast }
  try {
    const socket = await world.openBacnetIp({ ...opening, onDatagram: (bytes, peer) => router.datagram(bytes, peer) })
    const router = new MstpRouter({
      ...{ clock, mac, ringNetwork, ipNetwork, queue },
      foreignDevices: settings.foreign_devices,
      foreignPerAddress: settings.foreign_per_address,
      broadcastsPerS: settings.ip_broadcasts_per_s,
      sendFrame: (frame) => line.send(frame, ended.signal),
      sendTo: (peer, bytes) => socket.sendTo(peer, bytes),
      sendToAll: (bytes) => socket.sendToAll(bytes),
    })
    router.begin()
    return {
      heard(bytes) {
        const [type = 0, destination] = [bytes[2], bytes[3]]
        const isForUs = destination === mac || destination === BROADCAST
        if (isForUs && ROUTED_TYPES.includes(type)) router.frame(readMstpFrame(bytes))
      },
      counts: () => ({ ...router.counts, foreignDevices: router.foreignDevices() }),
      async close() {
        ended.abort()
        await socket.close()
      },
    }
  } catch (error) {
    await line.close()
    throw error
  }
}

const ROUTED_TYPES: readonly number[] = [
  FRAME_TYPES.BACNET_DATA_EXPECTING_REPLY,
  FRAME_TYPES.BACNET_DATA_NOT_EXPECTING_REPLY,
  FRAME_TYPES.BACNET_EXTENDED_DATA_EXPECTING_REPLY,
  FRAME_TYPES.BACNET_EXTENDED_DATA_NOT_EXPECTING_REPLY,
]

function realtimeView({ priority, refusal }: MstpHealth['realtime']): RingView['realtime'] {
  if (priority === 0) return { granted: false, text: 'Real-time priority is switched off (mstp.realtime_priority).' }
  if (refusal === null) return { granted: true, text: `The token is passed with real-time priority ${priority}.` }
  const text = `The system refuses real-time priority (${refusal}): on a busy machine the token is passed late. LimitRTPRIO of the unit allows it.`
  return { granted: false, text }
}

function shownOf({ code, message }: Fault): { code: string; message: string } {
  return { code, message }
}

function viewOf(frame: MstpFrame): FrameView {
  const { data, destination, frameType, source } = frame
  return {
    frameType: frameTypeName(frameType),
    destination,
    source,
    dataHex: hexOf(data),
    bacnet: npduOf(frame) ?? null,
  }
}

/** A frame that was found whole. */
function decodedOf(bytes: Uint8Array) {
  const { bacnet, dataHex, ...head } = viewOf(readMstpFrame(bytes))
  return { kind: 'frame', ...head, ...(dataHex !== '' && { dataHex }), ...bacnet }
}
