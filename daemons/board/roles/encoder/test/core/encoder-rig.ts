/** An encoder in which everything outside is fake: sources do what a test says, and time stands still. */
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Ptp, PtpView } from '../../../../core/ptp/ptp.ts'
import { type AudioSource, sourceName } from '../../../../core/sound/sound.ts'
import { ptpView } from '../../../../test/core/ptp/fake-ptp.ts'
import type { OwnRefClock } from '../../../../wire/streams/description.ts'
import { Encoder, type EncoderParts } from '../../core/encoder.ts'
import type { FeedEvents, FeedOpener, SentFacts } from '../../core/ports.ts'

export function sentFacts(change: Partial<SentFacts> = {}): SentFacts {
  return {
    packets: 0,
    bytes: 0,
    errors: 0,
    error: null,
    resyncs: 0,
    nextTimestamp: 48,
    idleMs: 0,
    lateUs: { p50: 5, p99: 20, max: 90 },
    spacingUs: { p50: 1000, p99: 1020, max: 1100 },
    ...change,
  }
}

/** Lets pending promises settle. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

/** What a test sets, and what it observes. */
interface Known {
  /** Fault of the next source; undefined: it opens. */
  failure: Fault | undefined
  /** What the next source waits for before it is open. */
  opensAfter: Promise<void> | undefined
  ptp: PtpView
  sent: SentFacts | null
  hasMoved: boolean
  events: FeedEvents | undefined
  announced: { sap: boolean; last_at: number | null; rtsp: boolean }
  ptpListener: (() => void) | undefined
  isOver: boolean
  sdp: string | undefined
}

export function encoderRig(source: AudioSource = { kind: 'alsa', name: 'hw:1' }, isSapWanted = true) {
  const clock = fakeClock()
  const seen: string[] = []
  const known: Known = {
    failure: undefined,
    opensAfter: undefined,
    ptp: ptpView(),
    sent: null,
    hasMoved: false,
    events: undefined,
    announced: { sap: true, last_at: 1, rtsp: true },
    ptpListener: undefined,
    isOver: false,
    sdp: 'v=0\r\n',
  }
  const parts: EncoderParts = {
    ...{ clock, log: silentLog, opener: fakeOpener(known, seen), source, ptp: fakePtp(known) },
    announcing: { changed: () => void seen.push('announce'), sdp: () => known.sdp, view: () => known.announced },
    ...{ stream: { channels: 2, packetMs: 1 }, isSapWanted },
    limits: { silence_db: -70, silence_s: 60, tone_s: 600, card_retry_ms: 500, card_retry_most_ms: 5000 },
    own: (promise) => void promise,
    onChange() {},
  }
  const encoder = new Encoder(parts)

  /** Lets seconds pass, sending this many packets in each. */
  async function seconds(count: number, packets = 1000): Promise<void> {
    for (let second = 0; second < count; second++) {
      if (known.sent !== null) known.sent = { ...known.sent, packets: known.sent.packets + packets }
      clock.advance(1000)
      await settled()
    }
  }
  const check = (name: string) => encoder.checks().find((each) => each.name === name)
  return {
    clock,
    encoder,
    known,
    seen,
    seconds,
    check,
    lost: new Fault('no_card', 'The sound card hw:1 is not there.'),
  }
}

function fakeOpener(known: Known, seen: string[]): FeedOpener {
  return {
    async open(wanted, events) {
      seen.push(`open ${wanted.kind}`)
      await known.opensAfter
      if (known.failure !== undefined) throw known.failure
      known.events = events
      known.sent ??= sentFacts()
      return {
        sourceName: sourceName(wanted),
        captureMs: () => (wanted.kind === 'alsa' ? 5.3 : null),
        card: () => null,
        realtime: () => ({ granted: true, text: 'Sound runs with real-time priority 50.' }),
        async close() {
          seen.push(`close ${wanted.kind}`)
        },
      }
    },
    sent: () => known.sent,
    hasMoved: () => known.hasMoved,
    close: () => void seen.push('end'),
  }
}

function fakePtp(known: Known): Ptp {
  const refClock: OwnRefClock = { kind: 'localmac', mac: '00-1D-C1-12-34-56' }
  return {
    view: () => known.ptp,
    refClock: () => refClock,
    isLocked: () => true,
    onChange(listener) {
      known.ptpListener = listener
      return () => {
        known.isOver = true
      }
    },
  }
}
