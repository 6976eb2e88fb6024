/** The protocol bacnet-mstp: a line with a node of a ring on it, or a listener, served by a thread of its own. */
import type { DriverCounts, LineSettings } from '#kit/line/line.ts'
import { hexOf } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
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
import type { NodeView, SeenBytes } from './node.ts'
import type { SendOutcome } from './requests.ts'
import { RingWatch } from './ring-watch.ts'
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

/** What the protocol needs from outside. */
export interface MstpWorld {
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
  const watch = new RingWatch({
    ...{ own, goneMs: settings.node_gone_ms },
    onNode: (payload) => publish('unit', payload),
    onAlone: (fault) => publish('port', { state: 'open', previous: 'open', fault: fault ? shownOf(fault) : null }),
  })

  function seen(list: readonly SeenBytes[]): void {
    for (const one of list) {
      const { atUs, bytes, direction, fault } = one
      if (settings.frames === 'data' && !fault && OF_THE_RING.includes(bytes[2] ?? 0)) continue
      const reading = () => (fault ? { decoded: null, decodeError: fault } : { decoded: decodedOf(bytes) })
      publish('frame', () => framePayload({ direction, frame: bytes, atUs }, reading()), 2 * bytes.length)
    }
  }

  async function send(body: MstpSend, signal: AbortSignal): Promise<SendAnswer> {
    const frame = frameOfSend(body, settings.mac)
    const bytes = encodeMstpFrame(frame)
    if (!line) throw whyNotOpen()
    const { isPostponed, reply, tookMs, waitedMs } = await line.send(frame, signal)
    const { destination, frameType, source } = frame
    const head = { sent: bytes.length, frameType: frameTypeName(frameType), destination, source }
    return { ...head, waitedMs, reply: reply && viewOf(reply), tookMs, postponed: isPostponed }
  }

  return {
    ...(isNode && { actions: { send } }),
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
      return line
    },
    // The thread has the line.
    attach() {},
    detach() {
      line = undefined
      watch.reset()
    },
    whyNoAction: (action) =>
      isNode || action !== 'send'
        ? `${port} speaks bacnet-mstp, which has rest/send and no rest/${action}.`
        : `${port} only listens (settings.mode is listen), so rest/send is refused: nothing is ever sent.`,
    counters: () => ({ ...health?.counters }),
    fault() {
      const fault = line && health?.view.fault
      return fault ? new Fault(fault.code, fault.message) : watch.alone
    },
  }
}

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
