/** Says a message through a camera's loudspeaker, at the pace at which it is heard. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { encodeG711, type Law } from '../../wire/g711.ts'
import { SPEECH_RATE } from '../../wire/wav.ts'
import type { StreamPlace } from '../ports.ts'

/** A loudspeaker that is listening. */
export interface TalkLine {
  law: Law
  /**
   * @param bytes of one packet, in its law
   * @returns false if the camera does not read what it is sent
   */
  send(bytes: Uint8Array): boolean
  /** Resolves with why it ended, once it has, and not from here. */
  over: Promise<Fault>
  close(): void
}

/** Opens loudspeakers. */
export interface Talker {
  /** @throws Fault `no_talkback`, `camera_unreachable`, `camera_refused`, `camera_unsupported`, `rtsp_broken`, `bad_target` */
  open(place: StreamPlace, signal: AbortSignal): Promise<TalkLine>
}

/** @source RFC 3551, 4.2: 20 ms is the usual length of a packet */
const PACKET_MS = 20
const PACKET_SAMPLES = (SPEECH_RATE * PACKET_MS) / 1000
/** What a machine that was held up may send at once: cameras have room for little more. */
const MOST_AT_ONCE = 10

/**
 * @param samples at 8000 a second
 * @param signal ends it early
 * @throws Fault of the line that ended, `camera_silent` where it takes nothing any more
 */
export async function speak(
  { clock, line, signal }: { clock: Clock; line: TalkLine; signal: AbortSignal },
  samples: Int16Array,
): Promise<void> {
  const bytes = encodeG711(samples, line.law)
  const done = Promise.withResolvers<void>()
  const end = () => done.resolve()
  let beganMs = clock.monotonicMs()
  let sent = 0

  function sendDue(): void {
    const due = Math.floor((clock.monotonicMs() - beganMs) / PACKET_MS) + 1
    // What is late is not hurried after: it would be heard as a stutter.
    if (due - sent > MOST_AT_ONCE) beganMs += (due - sent - MOST_AT_ONCE) * PACKET_MS
    for (let left = Math.min(due - sent, MOST_AT_ONCE); left > 0; left--) {
      const at = sent * PACKET_SAMPLES
      if (at >= bytes.length) done.resolve()
      else if (!line.send(bytes.subarray(at, at + PACKET_SAMPLES)))
        done.reject(new Fault('camera_silent', 'The camera does not take what is said. Try again.'))
      sent++
    }
  }

  const timer = clock.every(PACKET_MS, sendDue)
  signal.addEventListener('abort', end, { once: true })
  void line.over.then(done.reject)
  try {
    sendDue()
    await done.promise
  } finally {
    timer.cancel()
    signal.removeEventListener('abort', end)
  }
}
