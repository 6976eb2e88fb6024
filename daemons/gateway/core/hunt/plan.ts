/** What a hunt for the settings of a line may take, what a caller asks of it, and the settings that follow from that. */
import { type Static, Type } from 'typebox'
import type { LineSettings } from '#kit/line/line.ts'
import { refuseFields } from '../bus/faults.ts'
import type { HuntProtocol, HuntQuestion, HuntSetting } from './hunted.ts'

/** Keys of the table `hunt` in gateway.toml. */
export const huntKeys = Type.Object(
  {
    max: Type.Integer({ default: 2, minimum: 1, maximum: 16, description: 'hunts at once, each on a line of its own' }),
    kept: Type.Integer({
      default: 64,
      minimum: 1,
      maximum: 256,
      description: 'lines whose last hunt is kept; beyond, the oldest that has ended is forgotten',
    }),
    listen_ms: Type.Integer({
      default: 1500,
      minimum: 50,
      maximum: 60_000,
      unit: 'ms',
      description: 'how long each setting is listened to',
    }),
    listen_most_ms: Type.Integer({
      default: 6000,
      minimum: 50,
      maximum: 600_000,
      unit: 'ms',
      description:
        'how long a setting at which the line was silent is listened to once more, where it was not silent at others',
    }),
    ask_ms: Type.Integer({
      default: 250,
      minimum: 10,
      maximum: 10_000,
      unit: 'ms',
      description: 'how long a unit may take to begin an answer; a meter of M-Bus has 330 bits and 50 ms more',
    }),
    quiet_bytes: Type.Integer({
      default: 8,
      minimum: 0,
      maximum: 1024,
      unit: 'bytes',
      description: 'bytes heard at one setting up to which the line counts as silent: noise of a line without bias',
    }),
    most_ms: Type.Integer({
      default: 1_200_000,
      minimum: 1000,
      maximum: 86_400_000,
      unit: 'ms',
      description: 'longest hunt; one that would take longer is refused, one that does is ended',
    }),
  },
  { additionalProperties: false, default: {}, description: 'hunts for the settings of a line' },
)

export type HuntLimits = Static<typeof huntKeys>

/** What a caller asks of a hunt; the API has checked the ranges of each. */
export interface HuntBody {
  protocols?: readonly string[]
  bauds?: readonly number[]
  parities?: readonly LineSettings['parity'][]
  ask?: boolean
  from?: number
  to?: number
  takeOver?: boolean
}

/** One setting, and the protocols that may be spoken with it. */
export interface HuntTry {
  setting: HuntSetting
  protocols: readonly [name: string, protocol: HuntProtocol][]
}

/** One hunt, as planned. `groups`: the settings of one rate each, in the order in which they are tried. */
export interface HuntPlan {
  groups: readonly (readonly HuntTry[])[]
  protocols: readonly string[]
  ask: boolean
  units: { from: number; to: number } | null
}

/** The framing that nearly all devices have. */
const DATA_BITS = 8
const STOP_BITS = 1

/** @throws Fault `bad_fields` */
export function huntPlan(body: HuntBody, known: Readonly<Record<string, HuntProtocol>>): HuntPlan {
  const { ask = false, from, to } = body
  const protocols = [...new Set(body.protocols ?? Object.keys(known))]
  if ((from === undefined) !== (to === undefined))
    refuseFields([{ field: from === undefined ? 'from' : 'to', message: 'is missing: both or none say whom to ask' }])
  if (from !== undefined && to !== undefined && from > to)
    refuseFields([{ field: 'from', message: `is ${from}, above to, which is ${to}` }])
  const chosen = protocols.flatMap((name): [string, HuntProtocol][] => (known[name] ? [[name, known[name]]] : []))
  if (ask && !chosen.some(([, protocol]) => protocol.asking))
    refuseFields([{ field: 'ask', message: `is true, and nobody answers in ${titles(chosen)}: leave it out` }])
  const bauds = [...new Set(body.bauds ?? chosen.flatMap(([, { habits }]) => habits.bauds))]
  const groups = bauds.map((baud) => triesAt(baud, body, chosen)).filter((group) => group.length > 0)
  return { groups, protocols, ask, units: from === undefined || to === undefined ? null : { from, to } }
}

function titles(chosen: readonly [string, HuntProtocol][]): string {
  return chosen.map(([, { title }]) => title).join(', ')
}

/** Rates and parities that the caller names are tried with every protocol. */
function triesAt(baud: number, { bauds, parities }: HuntBody, chosen: readonly [string, HuntProtocol][]): HuntTry[] {
  const speaks = ({ habits }: HuntProtocol, parity: LineSettings['parity']) =>
    (bauds !== undefined || habits.bauds.includes(baud)) && (parities ?? habits.parities).includes(parity)
  const wanted = parities ?? (['none', 'even', 'odd'] as const)
  return wanted
    .map((parity) => ({
      setting: { baud, data_bits: DATA_BITS, parity, stop_bits: STOP_BITS } as const,
      protocols: chosen.filter(([, protocol]) => speaks(protocol, parity)),
    }))
    .filter(({ protocols }) => protocols.length > 0)
}

/** The rounds in which units are asked: the second where nobody answered in the first. */
export const huntRounds = ['first', 'further'] as const
export type HuntRound = (typeof huntRounds)[number]

/** The questions of a protocol, to the units that the plan names. */
export function questionsOf({ units }: HuntPlan, { asking }: HuntProtocol, round: HuntRound): HuntQuestion[] {
  if (!asking) return []
  const range = units ? { from: units.from, to: Math.min(units.to, asking.last) } : undefined
  return round === 'first' ? asking.questions(range) : (asking.further?.(range) ?? [])
}

/** The settings at which there is something to ask in a round, by rate. */
export function groupsAsked({ groups }: HuntPlan, round: HuntRound): HuntTry[][] {
  const isAsked = ([, { asking }]: HuntTry['protocols'][number]) =>
    asking !== undefined && (round === 'first' || asking.further !== undefined)
  const asked = groups.map((group) => group.filter(({ protocols }) => protocols.some(isAsked)))
  return asked.filter((group) => group.length > 0)
}

/** How it is written on devices: `19200 8E1`. */
export function settingName({ baud, data_bits, parity, stop_bits }: HuntSetting): string {
  return `${baud} ${data_bits}${parity.charAt(0).toUpperCase()}${stop_bits}`
}

/**
 * A receiver looks at the first stop bit alone, so that a line without parity sounds the same with two; and units with
 * two stop bits hear a master with one.
 */
export function sameSounding(setting: HuntSetting): HuntSetting[] {
  return setting.parity === 'none' && setting.stop_bits === 1 ? [{ ...setting, stop_bits: 2 }] : []
}
