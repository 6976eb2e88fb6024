/**
 * What a board says of itself, as a zone shows it.
 * @source interface document 2, part B; docs/board.md
 */
import { flag, isObject, number, parsed, type Said, type SaidValue, text } from './said.ts'

/** What a board does. */
export type BoardValues = Readonly<Record<string, SaidValue>>

/** A longer silence of an encoder's source is none between two words. */
const LONGEST_PAUSE_S = 5

const LEVELS = new TextEncoder().encode('{"type":"meters",')

function startsWith(bytes: Uint8Array, head: Uint8Array): boolean {
  return head.every((byte, at) => bytes[at] === byte)
}

/** @returns undefined if it is no status; of a message about something else, no values @source docs/board.md, WS /ws */
export function readBoardMessage(bytes: Uint8Array): { values: BoardValues | undefined } | undefined {
  // Levels come twenty times a second, and are not worth reading.
  if (startsWith(bytes, LEVELS)) return { values: undefined }
  const said = parsed(bytes)
  if (!isObject(said) || typeof said.type !== 'string') return undefined
  return { values: said.type === 'status' ? valuesOfStatus(said.status) : undefined }
}

/** The body of `GET /api/status`. @returns undefined if it is none */
export function readBoardStatus(bytes: Uint8Array): BoardValues | undefined {
  return valuesOfStatus(parsed(bytes))
}

/** The answer to a volume or a route: what holds now. @source docs/board.md, Decoder */
export function readBoardAnswer(bytes: Uint8Array): BoardValues {
  const said = parsed(bytes)
  if (!isObject(said)) return {}
  return 'mcast' in said ? routeOf(said) : 'volume_db' in said ? volumeOf(said) : {}
}

/** @returns why the board did not do it, in its own words, all fields of a form */
export function readBoardRefusal(bytes: Uint8Array): string | undefined {
  const said = parsed(bytes)
  if (!isObject(said)) return undefined
  const fields: unknown[] = Array.isArray(said.fields) ? said.fields.slice(0, 8) : []
  const each = fields.flatMap((one) => (isObject(one) ? [`${text(one.field)}: ${text(one.message)}`] : []))
  return each.length > 0 ? each.join(' ') : (text(said.message) ?? undefined)
}

function valuesOfStatus(status: unknown): BoardValues | undefined {
  if (!isObject(status) || typeof status.role !== 'string' || !isObject(status.verdict)) return undefined
  const own = status[status.role]
  const { state, text: said } = status.verdict
  // `error` stands for itself where the board is well, too: what it says then is no error.
  const error = state === 'ok' || state === 'off' ? null : text(said)
  const common = { role: text(status.role), verdict: text(said), error }
  const reader = ROLES.get(status.role)
  return { ...common, ...(reader && isObject(own) ? reader(own) : { state: text(state) }) }
}

const ROLES: ReadonlyMap<string, (own: Said) => BoardValues> = new Map([
  ['decoder', decoderValues],
  ['encoder', encoderValues],
  ['usbip', usbipValues],
  ['serial', serialValues],
])

function decoderValues({ route, volume, playing, checks }: Said): BoardValues {
  const isPlaying = flag(playing)
  const plays = isObject(route) ? routeOf(route) : {}
  const state = plays.mcast === '' ? 'stopped' : isPlaying === true ? 'playing' : 'silent'
  return {
    ...plays,
    ...(isObject(volume) ? volumeOf(volume) : {}),
    state,
    playing: isPlaying,
    sound: isPlaying === true && !hasCode(checks, 'silence'),
  }
}

/** A stream may come and carry nothing. */
function hasCode(checks: unknown, code: string): boolean {
  return Array.isArray(checks) && checks.some((check: unknown) => isObject(check) && check.code === code)
}

function routeOf({ mcast, port, name, sender }: Said): BoardValues {
  const group = text(mcast)
  const place = group === null || group === '' ? null : `${group}:${number(port) ?? ''}`
  return { mcast: group, port: number(port), source: text(name) ?? place, sender: text(sender) }
}

function volumeOf({ volume, volume_db, mute }: Said): BoardValues {
  return { volume: number(volume), volume_db: number(volume_db), mute: flag(mute) }
}

function encoderValues({ state, stream, source, silence_s }: Said): BoardValues {
  const { mcast, port } = isObject(stream) ? stream : ({} as Said)
  return {
    state: text(state),
    sound: (number(silence_s) ?? LONGEST_PAUSE_S) < LONGEST_PAUSE_S,
    source: isObject(source) ? text(source.name) : null,
    mcast: text(mcast),
    port: number(port),
  }
}

function usbipValues({ enabled, attached, device }: Said): BoardValues {
  const host = isObject(attached) ? text(attached.address) : null
  const named = isObject(device) ? (text(device.product) ?? text(device.key)) : null
  const state = enabled === false ? 'off' : host === null ? 'free' : 'attached'
  return { state, on: flag(enabled), attached: host, source: named }
}

function serialValues({ ports }: Said): BoardValues {
  const all: unknown[] = Array.isArray(ports) ? ports : []
  const open = all.filter((port) => isObject(port) && port.state === 'open')
  return { state: open.length > 0 ? 'open' : 'off', value: open.length }
}
