/** Schemas of the board's answers and of each role's state, and the HTTP status of its faults. */
import { Type } from 'typebox'
import { count, fault, instant, number, object, orNull, text, yesNo } from '#kit/http/route.ts'
import { updateOutcome } from '#kit/release/running-image.ts'
import { roleNames } from '../wire/names.ts'

// The state of each role, in its own answers and under its name in `GET /api/status`.

const state = Type.String({ description: 'of a table in the chapter of life cycles' })

/** A chain of checks, from the cause of sound to its effect. */
const checks = Type.Array(
  object({
    name: text,
    state: Type.Enum(['ok', 'warn', 'fault', 'off', 'not_judged']),
    code: orNull(text),
    text,
  }),
)

const levels = Type.Array(orNull(number), { description: 'dBFS for each channel; null is silence' })
const meters = orNull(object({ peak_db: levels, rms_db: levels }))
const realtime = orNull(object({ granted: yesNo, text }))

const ptpRefClock = object({ kind: Type.Literal('ptp'), grandmaster: text, domain: count })
const macRefClock = object({ kind: Type.Literal('localmac'), mac: text })
const ownRefClock = Type.Union([ptpRefClock, macRefClock])
const refClock = Type.Union([ptpRefClock, macRefClock, object({ kind: Type.Literal('other'), text })])

/** The clock that sound runs on. */
const ptpState = object({
  enabled: yesNo,
  state: Type.Enum(['off', 'absent', 'starting', 'listening', 'master', 'locking', 'locked', 'holdover', 'fault']),
  text,
  offset_ns: orNull(number),
  path_delay_ns: orNull(number),
  rate_ppm: orNull(number),
  grandmaster: orNull(
    object({ id: text, domain: count, priority1: count, priority2: count, clock_class: count, is_self: yesNo }),
  ),
  clock_id: orNull(text),
  port_state: orNull(text),
  priority1: count,
  domain: count,
  since_at: orNull(instant),
  steps: count,
  last_sync_age_ms: orNull(number),
})

const spread = orNull(object({ p50: number, p99: number, max: number }))

const encoderState = object({
  state,
  stream: object({
    mcast: text,
    port: count,
    name: text,
    encoding: Type.Enum(['L16', 'L24']),
    channels: count,
    packet_ms: number,
    payload_type: count,
    dscp: count,
    ttl: count,
    dup: orNull(object({ mcast: text, port: count })),
    refclk: ownRefClock,
  }),
  source: object({ kind: text, name: text, found: yesNo }),
  meters,
  silence_s: orNull(number),
  sent: object({
    packets: count,
    bytes: count,
    errors: count,
    resyncs: count,
    next_timestamp: orNull(count),
    late_us: spread,
    spacing_us: spread,
  }),
  announced: object({ sap: yesNo, last_at: orNull(instant), rtsp: yesNo, sdp: text }),
  capture_ms: orNull(number),
  card: orNull(object({ drift_ppm: orNull(number), latency_ms: orNull(number), xruns: count, dropped_frames: count })),
  realtime,
  tone_until: orNull(instant),
  restarts: count,
  checks,
})

/** @source Interface 2, B, Route */
export const routeAnswer = object({
  mcast: text,
  port: count,
  source: orNull(text),
  link_ms: number,
  ext_link_ms: number,
  effective_link_ms: number,
  mclk_offset: count,
  encoding: text,
  channels: orNull(count),
  packet_ms: orNull(number),
  name: orNull(text),
  sender: orNull(text),
  sync: orNull(text),
  given: object({ link_ms: orNull(number), mclk_offset: orNull(count), encoding: orNull(text) }),
})

/** @source Interface 2, B, Volume */
export const volumeAnswer = object({
  volume: Type.Integer({ minimum: 0, maximum: 100 }),
  volume_db: Type.Number({ minimum: -80, maximum: 12 }),
  mute: yesNo,
})

const byPath = { packets: count, lost: count, late: count, duplicate: count, reordered: count, wrong_source: count }

const decoderState = object({
  route: routeAnswer,
  volume: volumeAnswer,
  playing: yesNo,
  checks,
  stream: orNull(
    object({
      id: text,
      name: text,
      source: text,
      encoding: text,
      channels: count,
      packet_ms: number,
      refclk: orNull(refClock),
    }),
  ),
  sender: orNull(text),
  counters: object({
    ...byPath,
    bytes: count,
    concealed: count,
    glitches: count,
    wrong_format: count,
    wild: count,
    malformed: count,
    loss_percent_1min: orNull(number),
    paths: Type.Array(object({ mcast: text, port: count, sender: orNull(text), ...byPath })),
  }),
  arrival: orNull(
    object({
      earliest_us: number,
      latest_us: number,
      headroom_us: number,
      link_us: number,
      jitter_p50_us: number,
      jitter_p99_us: number,
      jitter_max_us: number,
      sender_ppm: orNull(number),
    }),
  ),
  output: object({
    kind: text,
    name: text,
    state,
    found: yesNo,
    latency_ms: orNull(number),
    drift_ppm: orNull(number),
    underruns: count,
    restarts: count,
    skipped_ms: number,
    phase_jumps: count,
    clipped_samples: count,
  }),
  meters,
  realtime,
})

/** Each announced stream; every text in it comes from a stranger. */
export const streamsAnswer = Type.Array(
  object({
    id: text,
    name: text,
    info: text,
    mcast: text,
    port: count,
    source: text,
    origin: text,
    from: text,
    encoding: text,
    channels: count,
    sample_rate: count,
    packet_ms: number,
    payload_type: count,
    ttl: count,
    refclk: orNull(refClock),
    mclk_offset: orNull(count),
    dup: orNull(object({ mcast: text, port: count, source: orNull(text) })),
    source_specific: yesNo,
    not_playable: orNull(text),
    heard_by: Type.Array(Type.Enum(['sap', 'mdns', 'rtsp'])),
    first_heard_at: instant,
    last_heard_at: instant,
    sdp: text,
  }),
)

const line = {
  baud: count,
  data_bits: Type.Integer({ minimum: 5, maximum: 8 }),
  parity: Type.Enum(['none', 'odd', 'even', 'mark', 'space']),
  stop_bits: Type.Enum([1, 1.5, 2]),
  flow: Type.Enum(['none', 'rtscts', 'xonxoff']),
}

/** One port: its settings and state. @source Interface 2, B, Serial port settings */
export const serialPortAnswer = object({
  port: Type.Integer({ minimum: 1, maximum: 4 }),
  enabled: yesNo,
  mode: Type.Enum(['raw', 'rfc2217']),
  tcp_port: count,
  ...line,
  write: Type.Enum(['all', 'first', 'exclusive']),
  label: text,
  allow: text,
  path: text,
  state,
  fault: orNull(fault),
  unsupported: Type.Array(text, { description: 'what the driver of this line cannot do' }),
  line_now: orNull(object(line)),
  clients: Type.Array(
    object({
      id: count,
      address: text,
      client_port: count,
      since_at: instant,
      may_write: yesNo,
      rfc2217: yesNo,
      bytes_in: count,
      bytes_out: count,
    }),
  ),
  counters: object({
    bytes_from_line: count,
    bytes_to_line: count,
    bytes_discarded: count,
    clients_total: count,
    clients_refused: count,
    clients_evicted: count,
    clients_dropped: count,
    telnet_faults: count,
    clients: count,
    overruns: orNull(count),
    framing: orNull(count),
    parity: orNull(count),
    breaks: orNull(count),
  }),
})

const host = orNull(object({ address: text, since_at: instant }))
const traffic = orNull(object({ in_bytes: count, out_bytes: count }))

const usbDevice = object({
  busid: text,
  vendor_id: text,
  product_id: text,
  vendor: orNull(text),
  product: orNull(text),
  serial: orNull(text),
  class: orNull(text),
  speed: orNull(text),
  key: text,
  state,
  carries: orNull(Type.Enum(['network', 'disk'])),
  attached: host,
  traffic,
})

/** @source Interface 2, B, USB/IP settings */
export const usbipAnswer = object({
  enabled: yesNo,
  allow: text,
  choice: text,
  supported: yesNo,
  text,
  device: orNull(usbDevice),
  devices: Type.Array(usbDevice),
  attached: host,
  traffic,
  hold_until: orNull(instant),
  last_error: orNull(object({ at: instant, code: text, message: text })),
})

/** The role's state in the status, null if this machine cannot fill it; and the clock of sound. */
const roleStates = {
  encoder: Type.Optional(orNull(encoderState)),
  decoder: Type.Optional(orNull(decoderState)),
  serial: Type.Optional(orNull(object({ ports: Type.Array(serialPortAnswer) }))),
  usbip: Type.Optional(orNull(usbipAnswer)),
  ptp: Type.Optional(ptpState),
}

// Answers of the board itself.

const role = Type.Enum([...roleNames])

export const boardStatusAnswer = object({
  role,
  set_up: Type.Boolean(),
  name: text,
  hostname: text,
  version: text,
  verdict: object({ state: Type.Enum(['ok', 'busy', 'warn', 'fault', 'off']), text }),
  uptime_s: count,
  started_at: instant,
  machine: object({ owned: Type.Boolean(), model: orNull(text) }),
  addresses: Type.Array(object({ interface: text, address: text, prefix: count, family: Type.Enum(['IPv4', 'IPv6']) })),
  temperature_c: orNull(Type.Number()),
  memory: object({ total_bytes: count, available_bytes: count, process_bytes: count }),
  load: Type.Array(Type.Number(), { minItems: 3, maxItems: 3 }),
  time: object({ now: instant, synchronised: orNull(Type.Boolean()) }),
  last_start: object({ at: instant, reason: text }),
  identify_until: orNull(instant),
  password_set: Type.Boolean(),
  network: object({ state: text, confirm_until: orNull(instant), text }),
  ota: object({
    state: Type.Enum(['idle', 'receiving', 'verifying', 'installing', 'installed', 'failed']),
    received_bytes: count,
    total_bytes: orNull(count),
    version: orNull(text),
    fault: orNull(fault),
    at: orNull(instant),
  }),
  ledger: object({
    open: object({ fault: count, warning: count, notice: count }),
    revision: count,
  }),
  ...roleStates,
})

export const peersAnswer = Type.Array(
  object({
    hostname: text,
    IP: text,
    ip: text,
    role,
    name: text,
    stream: orNull(text),
    port: count,
    url: text,
    path: text,
    version: text,
    id: orNull(text),
    self: Type.Boolean(),
    state: text,
    last_heard_at: orNull(instant),
    last_answer_at: orNull(instant),
  }),
)

export const dismissedAnswer = object({ dismissed: text })

const settingValue = Type.Union([text, Type.Number(), Type.Boolean()])

const formField = object({
  name: text,
  kind: Type.Enum(['text', 'address', 'number', 'choice', 'switch']),
  default: settingValue,
  value: settingValue,
  min: Type.Optional(Type.Number()),
  max: Type.Optional(Type.Number()),
  decimals: Type.Optional(count),
  max_length: Type.Optional(count),
  unit: Type.Optional(text),
  choices: Type.Optional(Type.Array(text)),
  meaning: text,
  roles: Type.Optional(Type.Array(role)),
})

export const formAnswer = object({
  revision: Type.String({ description: 'also the ETag; a change with `If-Match` is refused once it is another' }),
  groups: Type.Array(object({ title: text, fields: Type.Array(formField) })),
  roles: Type.Array(
    object({ role, can: Type.Boolean({ description: 'whether this machine has what it needs' }), text }),
  ),
})

export const otaReadyAnswer = object({
  takes_images: Type.Boolean(),
  missing: orNull(fault),
  last: orNull(updateOutcome),
})

export const otaAnswer = object({
  installed: Type.Literal(true),
  version: text,
  reboots: Type.Boolean(),
  about_s: count,
})

/** By name, a value for each second, null if none was measured. */
export const historyAnswer = object({
  step_s: Type.Integer(),
  from_at: instant,
  series: Type.Record(Type.String(), Type.Array(orNull(Type.Number()))),
})

export const toneAnswer = object({ tone_until: orNull(instant) })

const adapterDevice = object({
  port: count,
  path: text,
  found: Type.Boolean(),
  maker: orNull(text),
  product: orNull(text),
  serial_number: orNull(text),
})

export const serialAnswer = object({
  adapter: object({ devices: Type.Array(adapterDevice), text }),
  ports: Type.Array(serialPortAnswer),
})

export const droppedAnswer = object({ dropped: count })

// HTTP status of its faults; docs/ERRORS.md says for each what to do.

export const faultStatus: Readonly<Record<string, number>> = {
  image_length: 400,
  image_unknown: 400,
  unknown_client: 404,
  unknown_peer: 404,
  unknown_port: 404,
  ota_busy: 409,
  ota_not_set_up: 409,
  other_role: 409,
  peer_answers: 409,
  tcp_port_taken: 409,
  image_damaged: 422,
  image_too_old: 422,
  image_untrusted: 422,
  image_wrong_board: 422,
  line_refused: 422,
  helper_refused: 502,
  image_not_installed: 502,
  helper_absent: 503,
  no_stream: 503,
  image_no_room: 507,
  image_not_kept: 507,
}
