/** A camera that turns, spoken to without a network, by a clock of the test. */

import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { CameraRecord } from '../../../core/cameras/book.ts'
import type { OnvifClient } from '../../../core/cameras/onvif.ts'
import { type CameraWrite, createWrites } from '../../../core/clocks/writes.ts'
import type { PtzGeometry } from '../../../core/ptz/geometry.ts'
import { createHeads } from '../../../core/ptz/head.ts'
import { type By, CameraMoves, type OpenMove } from '../../../core/ptz/moves.ts'
import { createSteering, type Eyes } from '../../../core/ptz/steering.ts'
import { createTraining } from '../../../core/ptz/training.ts'
import { readSoap } from '../../../wire/soap.ts'
import { onvifAnswer, type PeerTraits } from '../../peer/onvif-camera.ts'
import { PtzSimulator, type PtzTraits } from '../../peer/ptz-simulator.ts'
import { pictureOf } from '../../peer/ptz-world.ts'

export const CAMERA = 'one'

export const record: CameraRecord = {
  ...{
    id: CAMERA,
    name: 'Yard',
    enabled: true,
    mode: 'record',
    audio: false,
    transport: 'tcp',
    masks: [],
    ...{ cameraEvents: false, outputs: null, talkback: null },
    url: 'rtsp://192.0.2.1/',
  },
  ...{ subUrl: null, username: 'onvif', password: 'x' },
  onvif: { service: 'http://192.0.2.1/onvif/device_service', recordToken: 'main', watchToken: null, fps: null },
}

export const ann: By = { kind: 'person', name: 'ann' }

/** What a camera does instead of answering: it answers late, or never. */
export type Delay = (name: string) => Promise<void> | undefined

/** Asks a played camera by its words, and no network. */
function playedOnvif(traits: Partial<PeerTraits>, delay: Delay): OnvifClient {
  const peer = { knowsServices: true, media: [1, 2], instead: {}, ...traits } as PeerTraits
  peer.profiles ??= [{ token: 'main', encoding: 'H264', width: 1920, height: 1080, fps: 25 }]
  const session: Awaited<ReturnType<OnvifClient['open']>> = {
    async ask(_, { answer, body, read }) {
      const name = /^<(\w+)/.exec(body)?.[1] ?? ''
      await delay(name)
      const own = 'http://192.0.2.1'
      const text = peer.instead[name] ?? onvifAnswer(name, { text: body, own, traits: peer, relays: new Map() })
      return read(readSoap(text, answer))
    },
  }
  return { open: async () => session }
}

export function ptzStage(
  wish: Partial<PtzTraits> & { peer?: Partial<PeerTraits>; pose?: ConstructorParameters<typeof PtzSimulator>[1] } = {},
  open: OpenMove[] = [],
) {
  const clock = fakeClock()
  const { peer = {}, pose, ...traits } = wish
  const camera = new PtzSimulator({ nowMs: () => clock.monotonicMs(), ...traits }, pose)
  const stage = {
    geometry: undefined as PtzGeometry | undefined,
    saved: open,
    failed: [] as string[],
    delay: (() => undefined) as Delay,
  }
  const onvif = playedOnvif({ ptz: camera, ...peer }, (name) => stage.delay(name))
  const writes = createWrites({ clock, records: [] as CameraWrite[], save: async () => {}, perCamera: 99, inAll: 99 })
  const heads = createHeads({ clock, onvif, mostPresets: 8, factsMs: 600_000 })
  const moves = new CameraMoves({
    ...{ clock, heads, writes, open },
    record(id) {
      if (id !== CAMERA) throw new Fault('unknown_camera', 'none')
      return record
    },
    geometry: () => stage.geometry,
    async saveOpen(moves) {
      stage.saved = moves
    },
    onStopFailed: (_, { message }) => void stage.failed.push(message),
    limits: { moveMs: 800, overtakeMs: 500, stopTries: 3, holdMs: 30_000 },
  })
  const told = (...names: string[]) => camera.told.filter(({ name }) => names.includes(name)).map(({ name }) => name)
  /** Waits for what takes time of the test's clock. */
  async function during<Result>(task: Promise<Result>, stepMs = 50): Promise<Result> {
    let isOver = false
    const over = () => {
      isOver = true
    }
    task.then(over, over)
    while (!isOver) await clock.run(stepMs)
    return await task
  }
  return Object.assign(stage, { camera, clock, during, heads, moves, told, writes })
}

/** Pictures of what the camera sees, a moment later than it is. */
export function eyesOf(
  { camera, clock }: Pick<ReturnType<typeof ptzStage>, 'camera' | 'clock'>,
  wish: { isDark?: boolean } = {},
): Eyes {
  return {
    async look() {
      if (wish.isDark) throw new Fault('no_picture', 'none')
      return { ...pictureOf(camera.view(), { width: 128, height: 72 }, 4), shownAt: clock.epochMs() }
    },
  }
}

export function steeringStage(wish: Parameters<typeof ptzStage>[0] = {}, seen: { isDark?: boolean } = {}) {
  const stage = ptzStage(wish)
  const { clock, moves } = stage
  const geometry = () => stage.geometry
  const limits = { arriveMs: 10_000, behindMs: 500 }
  const steering = createSteering({ clock, moves, eyes: eyesOf(stage, seen), geometry, limits })
  const train = createTraining({
    ...{ clock, moves, steering },
    async save(_, learned) {
      stage.geometry = learned
    },
  })
  return Object.assign(stage, { steering, train })
}

/** What is true of the played camera. */
export function truthOf(camera: PtzSimulator, tiltPerUnit: number | null = null): PtzGeometry {
  const zooms = Array.from({ length: 21 }, (_, at) => at / 20)
  const widths = zooms.map((zoom) => ({ zoom, hfovDeg: camera.hfovAt(zoom) }))
  return { kind: 'calibrated', widths, panPerUnit: null, tiltPerUnit, aspect: 9 / 16, at: 0 }
}
