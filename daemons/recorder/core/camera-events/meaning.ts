/** What a notice of a camera means: motion, a crossed line, somebody in an area; its begin, its end, or that it happened. */
import type { CameraNotice } from '../../wire/onvif-events.ts'

export const cameraEventKinds = ['motion', 'line', 'intrusion', 'person', 'tamper', 'other'] as const
export type CameraEventKind = (typeof cameraEventKinds)[number]

export const cameraEventPhases = ['begin', 'end', 'pulse'] as const
export type CameraEventPhase = (typeof cameraEventPhases)[number]

/** How listening to a camera goes. */
export interface CameraEventsStatus {
  state: 'starting' | 'ok' | 'failing'
  reason: string | null
  lastEventAt: number | null
  /** Kinds that last now. */
  active: CameraEventKind[]
}

/** A notice, understood. */
export interface CameraClaim {
  kind: CameraEventKind
  topic: string
  /** What lasts, apart from what else the camera tells under this topic. */
  key: string
  /** Whether it lasts now; undefined: it happened once. */
  isActive: boolean | undefined
  /** Whether the camera says how it is, and not that it has changed. */
  isStanding: boolean
  /** What it is about, such as the name of a rule. */
  about: string
}

/** Makers have topics of their own: words in it say what they mean. The first that fits counts. */
const WORDS: readonly (readonly [CameraEventKind, RegExp])[] = [
  ['tamper', /tamper|scenechange|imagetoo|defocus|signalloss|shelter|occlusion/i],
  ['person', /people|person|human|pedestrian|facedetect/i],
  ['motion', /motion|vmd|movement/i],
  ['line', /linedetect|linecross|crossline|crossedline|crossed|tripwire/i],
  ['intrusion', /fielddetector|objectsinside|intrusion|intruder|regionentrance|loiter/i],
]

/** Topics that cameras send all the time about themselves, such as their processor load: no events. */
const CHATTER = /^(?:Monitoring|Media|Configuration|UserAlarm|Recording|RecordingConfig|Profile)/i
/** That a clock was set, or a profile changed, and such. */
const OWN_BUSINESS = /clocksynch|profilechanged|configurationchanged|connection|processor|keepalive|heartbeat/i

/** @returns undefined for notices that are not kept as events */
export function meaningOf({ data, operation, source, topic }: CameraNotice): CameraClaim | undefined {
  if (CHATTER.test(topic) || OWN_BUSINESS.test(topic)) return undefined
  const kind = WORDS.find(([, words]) => words.test(topic))?.[0] ?? 'other'
  const switches = data.filter(([name]) => !/id$/i.test(name)).map(([, value]) => switchOf(value))
  const state = switches.find((one) => one !== undefined)
  const isProperty = operation !== undefined
  // A property that is no switch, such as a level, says nothing that begins or ends.
  if (isProperty ? state === undefined && operation !== 'Deleted' : state === false) return undefined
  const about = source.map(([, value]) => value).filter((value) => value !== '')
  return {
    ...{ kind, topic, key: [topic, ...source.flat()].join('|') },
    isActive: operation === 'Deleted' ? false : isProperty ? state : undefined,
    isStanding: operation === 'Initialized',
    about: about.slice(0, 3).join(', '),
  }
}

function switchOf(value: string): boolean | undefined {
  if (/^(?:true|1|active|on)$/i.test(value)) return true
  return /^(?:false|0|inactive|off)$/i.test(value) ? false : undefined
}

const plainly = (what: string) => ({ begin: `${what} began`, end: `${what} ended`, pulse: `${what} was reported` })

const SENTENCES: Readonly<Record<Exclude<CameraEventKind, 'other'>, Readonly<Record<CameraEventPhase, string>>>> = {
  motion: plainly('Motion'),
  line: { begin: 'A line is crossed', end: 'A line is crossed no more', pulse: 'A line was crossed' },
  intrusion: {
    begin: 'Somebody or something is in an area',
    end: 'Nobody and nothing is in the area any more',
    pulse: 'Somebody or something was in an area',
  },
  person: { begin: 'A person is there', end: 'The person is gone', pulse: 'A person was there' },
  tamper: plainly('Tampering'),
}

/** A sentence for people. */
export function summaryOf({ about, kind, topic }: CameraClaim, phase: CameraEventPhase): string {
  const told = kind === 'other' ? plainly(`An event (${topic})`) : SENTENCES[kind]
  return `${told[phase]}${about === '' ? '' : `: ${about}`}.`
}
