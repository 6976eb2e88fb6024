/** The real board in the role decoder on the loopback interface, with senders and announcements made by a test. */
import { createSocket } from 'node:dgram'
import { join } from 'node:path'
import type { Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { type RunningBoard, startBoard } from '../../../test/running-board.ts'
import { countedPattern, type Pattern } from '../../../test/sound/pattern.ts'
import { type RunningSender, startSender } from '../../../test/sound/rtp-sender.ts'
import type { StreamDescription } from '../../../wire/streams/description.ts'
import { SAP_GROUPS, SAP_PORT, sapHash, writeSap } from '../../../wire/streams/sap.ts'
import { writeSdp } from '../../../wire/streams/sdp.ts'
import type { DecoderView } from '../core/decoder-view.ts'

/** A group that neither another test nor another run of this one uses. */
export const GROUP = `239.${69 + (process.pid % 100)}.${(process.pid >> 7) & 0xff}.4`
export const PORT = 15_204
/** The MAC address of every loopback interface: streams that name it use this machine's clock. */
const OWN_MAC = '00-00-00-00-00-00'

/** Generous for a busy machine; what is waited for is short. */
const SETS = ['audio.interface=lo', 'audio.realtime_priority=0', 'audio.look_ms=50', 'audio.sender_gone_ms=400']
const ALONE = ['mdns.enabled=false', 'streams.ravenna=false', 'ptp.enabled=false', 'board.role=decoder']

export interface DecoderBoard extends RunningBoard {
  /** Recording of what it plays. */
  file: string
  decoder(): Promise<DecoderView>
  route(fields: Record<string, string>): Promise<number>
  /** Waits until a link of the chain has a code. @returns its sentence */
  reason(check: string, code: string | null): Promise<string>
}

/** A board that missed sound reports it for one minute. */
const PAST_MS = 75_000

export async function startDecoder(t: Test, stateFolder: string, file = 'heard.wav'): Promise<DecoderBoard> {
  const path = join(stateFolder, file)
  const board = await startBoard(t, { stateFolder, sets: [...ALONE, ...SETS, `audio.sink=file:${path}`] })
  const decoder = async () => (await board.get('/api/status')).body.decoder as DecoderView
  return {
    ...board,
    file: path,
    decoder,
    route: async (fields) => (await board.post('/api/route', { mcast: GROUP, port: String(PORT), ...fields })).status,
    async reason(name, code) {
      let text = ''
      await until(
        `${name} is ${code}`,
        async () => {
          const check = (await decoder()).checks.find((one) => one.name === name)
          text = check?.text ?? ''
          return check?.state !== 'not_judged' && check?.code === code
        },
        PAST_MS,
      )
      return text
    },
  }
}

/** Sends two channels of 24 bits from an address of the loopback network; ended with the test. */
export async function sends(t: Test, from: string): Promise<RunningSender & { pattern: Pattern }> {
  const pattern = countedPattern(24, 2)
  const to = [{ group: GROUP, port: PORT, from }]
  return { ...(await startSender(t, { to, encoding: 'L24', channels: 2, sample: pattern.sample })), pattern }
}

/** Announces the stream of a sender over SAP, once. */
export async function announces(origin: string, name: string, change: Partial<StreamDescription> = {}): Promise<void> {
  const description: StreamDescription = {
    ...{ sessionId: String(process.pid), version: '1', origin, name, info: '' },
    paths: [{ group: GROUP, port: PORT, ttl: 1, source: null }],
    ...{ payloadType: 97, encoding: 'L24', channels: 2, sampleRate: 48_000, packetMs: 1 },
    refClock: { kind: 'localmac', mac: OWN_MAC },
    mediaOffset: 0,
    ...change,
  }
  const sdp = writeSdp(description)
  const bytes = writeSap({ isDeletion: false, hash: sapHash(sdp), origin, sdp })
  const socket = createSocket('udp4')
  await new Promise<void>((resolve) => socket.bind(0, origin, resolve))
  socket.setMulticastInterface(origin)
  await new Promise((resolve) => socket.send(bytes, SAP_PORT, SAP_GROUPS[0], resolve))
  socket.close()
}
