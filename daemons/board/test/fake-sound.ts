/**
 * States of fake boards with sound: an encoder that sends, a decoder that plays, streams that are heard, an hour of
 * history.
 */
import type { PtpView } from '../core/ptp/ptp.ts'
import type { Meters } from '../core/role.ts'
import type { Check, HistoryView } from '../core/sound/sound.ts'
import type { HeardStream } from '../core/streams/book.ts'
import type { DecoderState, EncoderState } from '../web/api.ts'

const GRANDMASTER = '00-1D-C1-FF-FE-8A-04-F2'

function check(name: string, text: string, change: Partial<Check> = {}): Check {
  return { name, state: 'ok', code: null, text, ...change }
}

/** A clock that is locked. */
export function fakePtp(change: Partial<PtpView> = {}): PtpView {
  return {
    enabled: true,
    state: 'locked',
    text: 'Locked to 00-1D-C1-FF-FE-8A-04-F2, 38 ns off.',
    offset_ns: 38,
    path_delay_ns: 4210,
    rate_ppm: 1.32,
    grandmaster: { id: GRANDMASTER, domain: 0, priority1: 64, priority2: 128, clock_class: 6, is_self: false },
    clock_id: 'B8-27-EB-FF-FE-12-34-56',
    port_state: 'UNCALIBRATED',
    priority1: 128,
    domain: 0,
    since_at: Date.now() - 41 * 86_400_000,
    steps: 0,
    last_sync_age_ms: 90,
    ...change,
  }
}

/** Settings of a stream of two channels. */
export const LOBBY_MUSIC = {
  mcast: '239.69.10.4',
  port: 5004,
  name: 'Lobby music',
  encoding: 'L24',
  channels: 2,
  packet_ms: 1,
  payload_type: 97,
  dscp: 34,
  ttl: 32,
} as const

/** An encoder that sends two channels. */
export function fakeEncoder(change: Partial<EncoderState> = {}): EncoderState {
  return {
    stream: {
      ...LOBBY_MUSIC,
      dscp: 46,
      refclk: { kind: 'ptp', grandmaster: GRANDMASTER, domain: 0 },
    },
    source: { kind: 'alsa', name: 'hw:1, USB Audio CODEC', found: true },
    meters: { peak_db: [-9.2, -11.6], rms_db: [-18.4, -20.1] },
    silence_s: 0,
    sent: {
      packets: 3_600_412,
      bytes: 1_080_123_600,
      errors: 0,
      resyncs: 0,
      spacing_us: { p50: 1000, p99: 1042, max: 1310 },
    },
    announced: {
      sap: true,
      last_at: Date.now() - 12_000,
      rtsp: true,
      sdp: 'v=0\r\no=- 1 1 IN IP4 10.20.4.12\r\ns=Lobby music\r\n',
    },
    capture_ms: 5.3,
    realtime: { granted: true, text: 'Sound runs with real-time priority 50.' },
    tone_until: null,
    checks: [
      check('input', 'hw:1, 2 channels'),
      check('level', 'Left −18.4, right −20.1 dBFS'),
      check('clock', 'Locked, +38 ns'),
      check('sending', '1 000 packets/s, none refused'),
      check('announced', 'SAP and RTSP'),
    ],
    ...change,
  }
}

/** A decoder that plays Lobby music. */
export function fakeDecoder(change: Partial<DecoderState> = {}): DecoderState {
  return {
    route: {
      mcast: '239.69.10.4',
      port: 5004,
      source: null,
      link_ms: 5,
      ext_link_ms: 0,
      effective_link_ms: 5,
      packet_ms: 1,
      sender: '10.20.4.12',
      sync: 'clock',
      mclk_offset: 0,
      encoding: 'L24',
      channels: 2,
      name: 'Lobby music',
      given: { link_ms: null, mclk_offset: null, encoding: null },
    },
    volume: { volume: 63, volume_db: -12, mute: false },
    playing: true,
    sender: '10.20.4.12',
    checks: playingChecks(),
    counters: {
      packets: 3_600_412,
      bytes: 1_036_918_656,
      lost: 3,
      concealed: 3,
      late: 0,
      reordered: 2,
      duplicate: 0,
      glitches: 0,
      wrong_source: 0,
      wrong_format: 0,
      wild: 0,
      malformed: 0,
      loss_percent_1min: 0,
      paths: [],
    },
    arrival: {
      ...{ earliest_us: 3900, latest_us: 2690, headroom_us: 2690, link_us: 5000, sender_ppm: null },
      ...{ jitter_p50_us: 60, jitter_p99_us: 410, jitter_max_us: 2600 },
    },
    stream: null,
    output: {
      ...{ kind: 'alsa', name: 'hw:0', state: 'playing', found: true },
      ...{
        latency_ms: 4.1,
        drift_ppm: 1.32,
        underruns: 0,
        restarts: 0,
        skipped_ms: 0,
        phase_jumps: 0,
        clipped_samples: 0,
      },
    },
    meters: { peak_db: [-9.2, -11.6], rms_db: [-18.4, -20.1] },
    realtime: { granted: true, text: 'Sound runs with real-time priority 50.' },
    ...change,
  }
}

/** All is well. */
function playingChecks(): Check[] {
  return [
    check('stream', '239.69.10.4:5004 from 10.20.4.12'),
    check('packets', '1 000 /s'),
    check('sender', '10.20.4.12, as announced'),
    check('format', 'L24, 2 channels, 1 ms packets'),
    check('clock', 'Locked, +38 ns'),
    check('grandmaster', GRANDMASTER),
    check('loss', '3 lost in an hour'),
    check('volume', '−12.0 dB, not muted'),
    check('output', 'hw:0, 2 channels, 1.32 ppm drift'),
  ]
}

/** Silent because of its clock; later links are not judged. */
export function silentChecks(): Check[] {
  const all = playingChecks()
  const at = all.findIndex(({ name }) => name === 'grandmaster')
  return all.map((each, index) => {
    if (index < at) return each
    const text =
      'The stream is timed by 3C-18-A0-FF-FE-04-11-9E in domain 1; this board follows 00-1D-C1-FF-FE-8A-04-F2 in domain 0. Put both into one PTP domain.'
    if (index === at) return { ...each, state: 'fault', code: 'other_grandmaster', text }
    return { ...each, state: 'not_judged', text: '' }
  })
}

/** Streams as various makers announce them. */
export function fakeStreams(): HeardStream[] {
  const now = Date.now()
  const one = (name: string, origin: string, change: Partial<HeardStream> = {}): HeardStream => ({
    id: `${origin} ${name}`,
    name,
    origin,
    mcast: '239.69.10.4',
    port: 5004,
    source: '10.20.4.12',
    encoding: 'L24',
    channels: 2,
    sample_rate: 48_000,
    packet_ms: 1,
    info: '',
    payload_type: 97,
    ttl: 32,
    mclk_offset: 0,
    dup: null,
    from: '10.20.4.12',
    source_specific: false,
    not_playable: null,
    sdp: '',
    refclk: { kind: 'ptp', grandmaster: GRANDMASTER, domain: 0 },
    heard_by: ['sap'],
    first_heard_at: now - 3_600_000,
    last_heard_at: now - 12_000,
    ...change,
  })
  return [
    one('Stage mix', 'Hall', { mcast: '239.69.20.1', source: '10.20.4.31', channels: 8 }),
    one('Chapel', 'Chapel', {
      mcast: '239.69.20.9',
      source: '10.20.4.33',
      sample_rate: 44_100,
      not_playable: 'It runs at 44100 Hz. A board plays 48000 Hz.',
    }),
    one('Lobby music', 'Rack A'),
    one('Paging', 'Front desk', { mcast: '239.69.20.2', source: '10.20.4.32', encoding: 'L16', channels: 1 }),
    one('Gym music', 'Rack A', { mcast: '239.69.20.3' }),
  ]
}

/** An hour with a burst of late packets in the middle, three of them lost. */
export function fakeHistory(): HistoryView {
  const seconds = 3600
  const at = (value: (second: number) => number | null): (number | null)[] =>
    Array.from({ length: seconds }, (_, second) => value(second))
  const wave = (second: number): number => Math.sin(second / 97) + 0.6 * Math.sin(second / 13)
  const burst = (second: number): number => (second > 1750 && second < 1790 ? 2300 : 0)
  return {
    step_s: 1,
    from_at: Date.now() - seconds * 1000,
    series: {
      earliest_us: at((second) => 3900 + 60 * wave(second)),
      latest_us: at((second) => 2500 - 120 * wave(second) - burst(second)),
      middle_us: at((second) => 3300 + 80 * wave(second) - burst(second) / 6),
      lost: at((second) => (second === 1760 || second === 1764 || second === 1771 ? 1 : 0)),
      spacing_p50_us: at(() => 1000),
      spacing_p99_us: at((second) => 1040 + 12 * wave(second)),
      spacing_max_us: at((second) => 1200 + 60 * wave(second) + burst(second) / 4),
      ptp_offset_ns: at((second) => (second < 40 ? null : 60 * wave(second))),
      ptp_path_delay_ns: at(() => 4210),
    },
  }
}

/** Levels as measured at an instant. */
export function fakeMeters(atMs: number): Meters {
  const swing = 6 * Math.sin(atMs / 700)
  return { peak_db: [-9.2 + swing / 2, -11.6 + swing / 2], rms_db: [-18.4 + swing, -20.1 + swing] }
}
