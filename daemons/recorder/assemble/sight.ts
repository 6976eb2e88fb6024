/** Assembles what the recorder sees: the detector, the process that decodes for it, and the events that follow. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Route } from '#kit/http/route.ts'
import type { Fault } from '#kit/pure/fault.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { Part } from '#kit/run/parts.ts'
import type { Callers } from '../api/callers.ts'
import { detectorRoutes } from '../api/detector-routes.ts'
import { eventRoutes, eventView } from '../api/event-routes.ts'
import { trackRoutes } from '../api/track-routes.ts'
import type { RecorderConfig } from '../config.ts'
import type { CameraEvent } from '../core/camera-events/camera-events.ts'
import type { CameraEventKind } from '../core/camera-events/meaning.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import { masksOf } from '../core/cameras/masks.ts'
import type { LicenceGate } from '../core/licence/licence.ts'
import type { ChosenPicture } from '../core/pictures/choice.ts'
import type { PictureDecoder } from '../core/ports.ts'
import type { Recogniser } from '../core/recognition/recognised.ts'
import type { Wall } from '../core/recording/timeline.ts'
import { type Alignment, createAlignment } from '../core/sight/alignment.ts'
import type { Detector, DetectorHealth } from '../core/sight/detector.ts'
import {
  createEventBook,
  type EventBook,
  type EventListener,
  type EventStore,
  type SightEvent,
} from '../core/sight/events.ts'
import { createSight, type LookDecoder, type Sight } from '../core/sight/sight.ts'
import { createSightBook, type SightBook } from '../core/sight/sight-book.ts'
import { createDetectorProcess } from '../io/detector-process.ts'
import { openEventStore } from '../io/event-store.ts'
import { eyesCommand } from '../io/eyes-command.ts'
import type { Footage } from '../io/footage-store.ts'
import { createDecoderProcess } from '../io/picture-decoder.ts'
import { openSightChoice } from '../io/sight-file.ts'
import { indexFolderOf } from './footage.ts'
import { createRecognising } from './recognition.ts'
import type { Watching } from './watching.ts'

type Context = AssembleContext<RecorderConfig>

interface SightParts {
  ledger: Ledger
  wall: Wall
  watching: Watching
  cameras: CameraBook
  footage: Pick<Footage, 'bounds' | 'spans'>
  /** Undefined on a recorder that is not licensed. */
  licence: Pick<LicenceGate, 'requireFeature'> | undefined
  decoder: Pick<PictureDecoder, 'shades'> & Parameters<typeof createRecognising>[1]['decoder']
  /** @throws Fault `no_footage`, `footage_gone` */
  pictureAt(camera: string, at: number): Promise<ChosenPicture>
  /** How long footage of a camera is kept. */
  keepMs(camera: string): number
}

/** What routes of events need beside. */
interface SightRouteParts
  extends Pick<Parameters<typeof eventRoutes>[0], 'licence' | 'newest' | 'pictureAt' | 'timeZone'> {
  callers: Callers
  recorder: Recorder
  decoder: Pick<PictureDecoder, 'picture'>
}

/** What sees. `onSighting` and `onEvent` are for rules, followers and brokers. */
export interface Seeing extends Pick<Sight, 'onSighting'> {
  /** A camera claims something itself: it counts where that was chosen. */
  claimed(event: Pick<CameraEvent, 'at' | 'camera' | 'kind' | 'phase'>): void
  /** @returns ends it */
  onEvent(listener: EventListener): () => void
  /** Events that go on, of all cameras. */
  goingOn(): SightEvent[]
  /** How much was seen, slice by slice. */
  density: EventStore['density']
  /** What an identity is called; undefined once it is forgotten. */
  nameOf(identityId: string): string | undefined
  /** Cameras were added, changed or removed. */
  camerasChanged(): void
  /** Footage is gone, and what was seen in it. */
  footageRemoved(camera: string, startAt: number, endAt: number): void
  health(): { detector: DetectorHealth; sight: ReturnType<Sight['health']> }
  routes(parts: SightRouteParts): Route[]
  part: Part
}

/** Wide enough to tell by what moves, and quick to compare. */
const ALIGNED_WIDTH = 96

/** How often events that have outlived their footage are removed. */
const SWEEP_MS = 3_600_000

/** Claims of cameras that are events of their own name. Of tampering, and of what is not understood, none is made. */
const SEEN_KINDS: ReadonlySet<CameraEventKind> = new Set(['person', 'motion', 'line', 'intrusion'])

const NO_DETECTOR: DetectorHealth = {
  ...{ state: 'idle', name: null, pictures: 0, refusedBoxes: 0, tookMs: null, crashes: 0, fault: null },
}

export async function createSeeing(context: Context, parts: SightParts): Promise<Seeing> {
  const { clock, log, stateFolder } = context
  const { cameras, footage, licence } = parts
  const tellEvent: EventListener = (event, phase) => {
    const name = cameras.find(event.cameraId)?.name ?? ''
    parts.watching.feed.tell(event.cameraId, { type: 'event', phase, event: eventView(event, name, recognising.book) })
  }
  const listeners = new Set<EventListener>()
  const { book: events, store } = eventsOf(context, parts, (event, phase) => {
    recognising.happened(event, phase)
    const known = recognising.known(event)
    for (const listener of [tellEvent, ...listeners]) listener(known, phase)
  })
  const decoder = decoderOf(context, parts.ledger)
  const sight = sightOf(context, parts, { events, decoder })
  const alignment = alignmentOf(context, parts, { events, store })
  listeners.add(alignment.heard)
  const { decoder: recorded, pictureAt } = parts
  const recognising = await createRecognising(context, {
    ...{ decoder: recorded, pictureAt, cameras, store, recogniser: () => chosen.recogniser() },
    onRecognised: tellEvent,
  })
  sight.onSighting((sighting) => recognising.sighted(sighting))
  const { choice, save } = await openSightChoice(stateFolder, log)
  const hasExternal = commandOf(context).length > 0
  const book = createSightBook({ choice, save, hasExternal, licence, onChange: () => chosen.apply() })
  const chosen = choosing(context, parts, { book, sight })
  let sweeping: Timer | undefined

  return {
    onSighting: (listener) => sight.onSighting(listener),
    claimed({ at, camera: cameraId, kind, phase }) {
      if (SEEN_KINDS.has(kind)) sight.claim({ cameraId, label: kind, at, phase })
    },
    onEvent(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    goingOn: () => cameras.list().flatMap(({ record }) => events.goingOn(record.id)),
    density: store.density,
    nameOf: (identityId) => recognising.book.find(identityId)?.name,
    camerasChanged: () => chosen.lookAt(),
    footageRemoved: (camera, startAt, endAt) => void store.forget(camera, startAt, endAt).catch(() => {}),
    health: chosen.health,
    routes: ({ recorder, ...more }) => [
      ...eventRoutes({
        ...{ clock, cameras, store, events, recognition: recognising, ...more },
      }),
      ...trackRoutes({
        ...{ cameras, store, events, choice: book, callers: more.callers },
        spans: (camera, fromAt, toAt) => footage.spans(camera, fromAt, toAt),
      }),
      ...detectorRoutes({ cameras, recorder, book, health: chosen.health }),
      ...recognising.routes({ recorder, licence: more.licence }),
    ],
    part: {
      name: 'sight',
      start() {
        chosen.apply()
        void recognising.part.start?.()
        sweeping = clock.every(SWEEP_MS, () => void sweep(clock, parts, store).catch(() => {}))
      },
      async stop() {
        sweeping?.cancel()
        await recognising.part.stop?.()
        sight.close()
        await Promise.all([chosen.close(), decoder.close(), events.close(), alignment.close()])
        await store.close()
      },
    },
  }
}

/** Removes events whose footage went unnoticed: files that somebody deleted, or a folder that is no longer used. */
async function sweep(
  clock: Clock,
  { footage, keepMs }: Pick<SightParts, 'footage' | 'keepMs'>,
  store: Pick<EventStore, 'cameras' | 'forget'>,
): Promise<void> {
  for (const camera of await store.cameras()) {
    const first = footage.bounds(camera)?.startAt ?? Number.POSITIVE_INFINITY
    await store.forget(camera, 0, Math.min(first, clock.epochMs() - keepMs(camera)))
  }
}

/** Where events are kept, and who hears of them. */
function eventsOf({ clock, config, log, stateFolder }: Context, { ledger }: SightParts, onEvent: EventListener) {
  const { max, queue, tracks, write_ms: writeMs } = config.events
  const store = openEventStore({
    folder: indexFolderOf({ stateFolder }),
    limits: { events: max, pieces: tracks, readings: config.recognition.readings },
    onPutAside: (why) => log.error('the events were damaged: they are put aside, and new ones begin', { why }),
  })
  const book = createEventBook({
    ...{ clock, store, onEvent, limits: { writeMs, queue } },
    onFault: (fault) => tellLedger(ledger, { what: 'events_not_kept', where: 'events' }, fault),
  })
  return { book, store }
}

function sightOf(
  { clock, config }: Context,
  { cameras, wall, watching }: SightParts,
  { decoder, events }: { decoder: LookDecoder; events: EventBook },
): Sight {
  const { agree, look_ms: lookMs, lost_ms: lostMs, score, stale_ms: staleMs, tracks } = config.detector
  const nowAt = () => wall.at(clock.monotonicMs())
  const sight = createSight({
    ...{ clock, events, decoder, nowAt, look: watching.look },
    limits: { agree, lookMs, lostMs, score, staleMs, tracks, waitingBytes: config.detector.waiting_bytes },
    masksOf: (camera) => masksOf(cameras.require(camera, { cameras: 'all' }).record),
    onActivity: (camera, active) =>
      watching.feed.tell(camera, { type: 'camera-activity', active, at: Math.round(nowAt()) }),
  })
  sight.onSighting(({ at, boxes, cameraId }) => watching.feed.tell(cameraId, { type: 'detections', at, boxes }))
  return sight
}

/** Measures by the recorded stream, beside what people ask to see. */
function alignmentOf(
  { clock }: Context,
  { decoder, pictureAt }: SightParts,
  { events, store }: { events: EventBook; store: EventStore },
): Alignment {
  return createAlignment({
    ...{ clock, events, store },
    async footageAt(camera, at, signal) {
      const { group, shownAt } = await pictureAt(camera, at)
      return { at: shownAt, shades: await decoder.shades({ camera, group, width: ALIGNED_WIDTH }, signal) }
    },
  })
}

/** Does what was chosen: begins and ends the external detector, and looks at the cameras. */
function choosing(
  context: Context,
  { cameras, ledger }: SightParts,
  { book, sight }: { book: SightBook; sight: Sight },
) {
  let external: (Detector & Recogniser) | undefined
  let kind: string | undefined

  function lookAt(): void {
    const known = kind === undefined || kind === 'off' ? [] : cameras.list()
    const ids = known.map(({ record }) => record).filter(({ enabled, id }) => enabled && book.of(id).enabled)
    sight.lookAt(kind === 'camera' ? [] : ids.map(({ id }) => ({ camera: id, fps: book.of(id).fps })))
    // Of one that is not listened to any more nobody hears that what it claimed is over.
    const heard = ids.filter(({ cameraEvents }) => cameraEvents).map(({ id }) => id)
    sight.believe(kind === 'camera' ? heard : [])
  }

  return {
    lookAt,
    recogniser: () => external,
    apply(): void {
      const next = book.choice().kind
      if (next !== kind) {
        void external?.close()
        external = next === 'external' && book.hasExternal ? externalOf(context, ledger) : undefined
        if (!external) tellLedger(ledger, { what: 'detector_failed', where: 'detector' }, book.lacking())
        kind = next
        sight.begin(external)
      }
      lookAt()
    },
    health(): ReturnType<Seeing['health']> {
      return { detector: external?.health() ?? ownHealth(kind, book.lacking()), sight: sight.health() }
    },
    close: () => external?.close(),
  }
}

/** Of what looks without a process of its own. */
function ownHealth(kind: string | undefined, lacking: Fault | undefined): DetectorHealth {
  if (lacking) return { ...NO_DETECTOR, state: 'failed', fault: { code: lacking.code, message: lacking.message } }
  return kind === 'motion' || kind === 'camera' ? { ...NO_DETECTOR, state: 'ready', name: kind } : NO_DETECTOR
}

function tellLedger(ledger: Ledger, about: { what: string; where: string }, fault: Error | undefined): void {
  if (!fault) ledger.clear(about.what, about.where)
  else ledger.raise({ ...about, severity: 'warning', sentence: fault.message })
}

/** From the settings, else that of the detector package, if it is installed. */
function commandOf({ config }: Context): readonly string[] {
  return config.detector.command.length > 0 ? config.detector.command : (eyesCommand() ?? [])
}

function externalOf(context: Context, ledger: Ledger): Detector & Recogniser {
  const { clock, config, log } = context
  const { answer_ms: answerMs, process_bytes: processBytes, start_ms: startMs } = config.detector
  return createDetectorProcess({
    ...{ clock, log, command: commandOf(context), limits: { startMs, answerMs, processBytes } },
    onFault: (fault) => tellLedger(ledger, { what: 'detector_failed', where: 'detector' }, fault),
  })
}

/** A process of its own, so that pictures that people ask for never wait for the detector's. */
function decoderOf({ clock, config, log }: Context, ledger: Ledger) {
  const { detector, pictures } = config
  return createDecoderProcess({
    ...{ clock, log },
    limits: {
      ...{ startMs: pictures.start_ms, answerMs: pictures.answer_ms, idleMs: pictures.idle_s * 1000, queue: 1 },
      ...{ pixels: detector.pixels, keptPixels: detector.pixels, memoryBytes: detector.memory_bytes },
    },
    onFault: (fault) => tellLedger(ledger, { what: 'pictures_not_made', where: 'decoder of the detector' }, fault),
  })
}
