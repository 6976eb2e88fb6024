/** Assembles what recognises: the book of identities, and what looks at vehicles again in the recorded pictures. */
import type { Route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { Part } from '#kit/run/parts.ts'
import { type RecognitionRouteParts, recognitionRoutes } from '../api/recognition-routes.ts'
import type { RecorderConfig } from '../config.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import { masksOf } from '../core/cameras/masks.ts'
import type { ChosenPicture } from '../core/pictures/choice.ts'
import { createIdentityBook, type IdentityBook } from '../core/recognition/identities.ts'
import { foldedPlate } from '../core/recognition/plates.ts'
import type { RecognisedKind, RecognisedStore, Recogniser } from '../core/recognition/recognised.ts'
import { createRecognition, type Recognition } from '../core/recognition/recognition.ts'
import type { EventListener, SightEvent } from '../core/sight/events.ts'
import type { LookDecoder } from '../core/sight/sight.ts'
import { openRecognitionFile } from '../io/recognition-file.ts'
import { newId } from '../io/state-files.ts'

interface RecognitionParts {
  cameras: CameraBook
  store: RecognisedStore
  recogniser(): Recogniser | undefined
  decoder: LookDecoder
  /** @throws Fault `no_footage`, `footage_gone` */
  pictureAt(camera: string, at: number): Promise<ChosenPicture>
  /** It is known of an event who it was, or known better. */
  onRecognised(event: SightEvent, phase: Parameters<EventListener>[1]): void
}

export interface Recognising extends Pick<Recognition, 'happened' | 'sighted'> {
  book: IdentityBook
  recognises(): readonly RecognisedKind[]
  /** The event with what is known of it. */
  known(event: SightEvent): SightEvent
  routes(parts: Pick<RecognitionRouteParts, 'licence' | 'recorder'>): Route[]
  part: Part
}

/** What a detector may be handed. */
const MOST = { width: 1920, height: 1080 } as const

export async function createRecognising(
  { clock, config, log, stateFolder }: AssembleContext<RecorderConfig>,
  { cameras, decoder, onRecognised, pictureAt, recogniser, store }: RecognitionParts,
): Promise<Recognising> {
  const { identities: most, look_ms: lookMs, looks, waiting } = config.recognition
  const file = await openRecognitionFile(stateFolder, log)
  const book = createIdentityBook({
    ...{ ...file, newId, most, nowAt: () => clock.epochMs(), readings: store },
    async onChange(changed) {
      for (const { id, merged, plates } of changed) await store.rejudge(id, plates.map(foldedPlate), merged)
      recognition.bookChanged()
    },
  })
  const ending = new AbortController()
  const recognition = createRecognition({
    ...{ clock, book, store, recogniser, limits: { looks, lookMs, waiting } },
    async pictureAt(camera, at) {
      const { group } = await pictureAt(camera, at)
      const masks = masksOf(cameras.require(camera, { cameras: 'all' }).record)
      return await decoder.look({ camera, group, masks, most: MOST }, ending.signal)
    },
    onRecognised: (event, recognised) =>
      onRecognised({ ...event, recognised }, event.endedAt === null ? 'begin' : 'end'),
  })
  const recognises = () => recogniser()?.recognises() ?? []

  return {
    ...{ book, recognises },
    happened: (event, phase) => recognition.happened(event, phase),
    sighted: (sight) => recognition.sighted(sight),
    known: (event) => ({ ...event, recognised: recognition.of(event.id) }),
    routes: ({ licence, recorder }: { licence: RecognitionRouteParts['licence']; recorder: Recorder }) =>
      recognitionRoutes({ recorder, licence, book, store, recognises, counts: () => recognition.counts() }),
    part: {
      name: 'recognition',
      start() {
        // A disk that cannot be read or written is reported when the next event is saved.
        void book.catchUp().catch(() => {})
        recognition.start()
      },
      async stop() {
        ending.abort()
        recognition.stop()
      },
    },
  }
}
