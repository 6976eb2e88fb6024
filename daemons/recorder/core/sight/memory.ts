/** What sight holds: rows of the memory plan. */
import { KIB, type MemoryRow, type Setting, threadRow } from '#kit/pure/memory-plan.ts'
import { MOST_SIGHTINGS } from './events.ts'
import { MOST_FPS } from './sight-book.ts'

/** Heap of the thread that keeps events: the rows of one answer. MiB. */
export const EVENTS_HEAP_MIB = { old: 24, young: 2 } as const

/** Threads of an external detector: its own, and those of what it reckons with. */
export const DETECTOR_TASKS = 24

/**
 * A grey picture, what it usually shows and how much it wobbles, and what has changed: as numbers of 4, 4 and 2 bytes; and
 * of each cell of 16 points how often it changes.
 */
const MOTION_BYTES = 160 * 120 * 12 + 40 * 30 * 8
/** Numbers of a sighting, as objects. */
const SIGHTING_BYTES = 192
/** Of one thing in ten minutes, and what is held of each: as it was kept and as it is told, and its text twice. */
const ANSWERED_SIGHTINGS = 600 * MOST_FPS
const ANSWERED_BYTES = 2 * SIGHTING_BYTES + 2 * 96
/** A picture of the largest size, as it comes from the decoder and as it goes to the detector. */
const PICTURE_BYTES = 1920 * 1080 * 3

export function sightRows(): MemoryRow[] {
  const { old, young } = EVENTS_HEAP_MIB
  return [
    {
      ...{ what: 'what cameras usually show', of: 'camera', many: 'cameras.max', each: MOTION_BYTES },
      shownBy: 'daemons/recorder/test/core/sight/motion.test.ts',
    },
    {
      ...{ what: 'things that are followed', of: 'camera', many: 'cameras.max', isHeap: true },
      each: (setting: Setting) => setting('detector.tracks') * (MOST_SIGHTINGS / 8) * SIGHTING_BYTES,
      shownBy: 'daemons/recorder/test/core/sight/tracker.test.ts',
    },
    {
      what: 'pictures that wait for the detector',
      all: (setting: Setting) => setting('detector.waiting_bytes') + 3 * PICTURE_BYTES,
      shownBy: 'daemons/recorder/test/core/sight/sight.test.ts',
    },
    {
      ...{ what: 'events and tracks that wait for the disk', of: 'one of them', many: 'events.queue', each: 4 * KIB },
      isHeap: true,
      shownBy: 'daemons/recorder/test/core/sight/events.test.ts',
    },
    {
      ...{ what: 'an answer of tracks', isHeap: true },
      all: (setting: Setting) => setting('detector.tracks') * ANSWERED_SIGHTINGS * ANSWERED_BYTES,
      shownBy: 'daemons/recorder/test/api/track-routes.test.ts',
    },
    {
      what: 'a picture in which somebody is recognised',
      // As it comes from the decoder, cut out, and as it goes to the detector.
      all: 3 * PICTURE_BYTES,
      shownBy: 'daemons/recorder/test/core/recognition/recognition.test.ts',
    },
    {
      ...{ what: 'vehicles that wait to be recognised', of: 'vehicle', many: 'recognition.waiting', each: 8 * KIB },
      isHeap: true,
      shownBy: 'daemons/recorder/test/core/recognition/recognition.test.ts',
    },
    {
      ...{ what: 'the book of identities', of: 'name', many: 'recognition.identities', each: 4 * KIB, isHeap: true },
      shownBy: 'daemons/recorder/test/core/recognition/identities.test.ts',
    },
    threadRow('the thread of events', old + young, 'daemons/recorder/test/io/event-store.test.ts'),
    {
      ...{ what: 'the process that decodes for the detector', all: 'detector.memory_bytes' },
      shownBy: 'daemons/recorder/test/io/picture-decoder.test.ts',
    },
    {
      ...{ what: 'the external detector', all: 'detector.process_bytes' },
      shownBy: 'daemons/recorder/test/io/detector-process.test.ts',
    },
  ]
}
