/** What may be asked of a zone: the commands that the building names for it, or those that zones of its type have. */
import type { Book, Row } from './row.ts'
import type { Session } from './session.ts'
import type { ZoneView } from './zone-view.ts'

/** Verbs by what a zone is; the first kind of which a word is in the type's name. */
const KINDS: readonly (readonly [words: readonly string[], verbs: readonly string[]])[] = [
  [['sensor', 'meter', 'contact', 'camera'], []],
  [
    ['dimmer', 'light', 'lamp', 'dali'],
    ['on', 'off', 'level'],
  ],
  [
    ['blind', 'shutter', 'shade', 'curtain', 'awning'],
    ['open', 'stop', 'close', 'level'],
  ],
  [
    ['door', 'gate', 'valve', 'window', 'lock'],
    ['open', 'close'],
  ],
  [['thermostat', 'heat', 'climate', 'hvac', 'cool', 'temperature'], ['setpoint']],
  [
    ['audio', 'music', 'speaker', 'sound', 'av'],
    ['volume', 'mute'],
  ],
  [
    ['fan', 'ventilation'],
    ['on', 'off', 'level'],
  ],
  [
    ['switch', 'relay', 'outlet', 'socket', 'plug', 'pump'],
    ['on', 'off'],
  ],
]

/** What a page may offer for a zone, and why nothing. */
export type Offer = Pick<ZoneView, 'verbs' | 'refused'>

/** @returns tells what this person may ask of a zone; the gates decide again when it is asked */
export function createOffers(book: Book, session: Session): (zone: Row) => Offer {
  const commands = book.rows('command').filter(({ enabled }) => enabled !== false)
  const mayCommand = session.may('command')
  return (zone) => {
    if (!mayCommand) return { verbs: [], refused: 'role' }
    if (!session.isElevated && isElevated(book, zone)) return { verbs: [], refused: 'elevation' }
    const own = commands.filter((command) => isFor(command, zone))
    const allowed = own.filter(({ elevated }) => session.isElevated || elevated !== true)
    const verbs = own.length === 0 ? usual(zone.type) : [...new Set(allowed.map(({ name }) => String(name)))]
    return { verbs, refused: null }
  }
}

function isElevated(book: Book, zone: Row): boolean {
  const device = typeof zone.device_id === 'number' ? book.row('device', zone.device_id) : undefined
  return zone.elevated === true || device?.elevated === true
}

/** A command that names nothing is for no zone: it is meant for devices. Asked of every zone for every command. */
function isFor({ zone_type: type, device_id: device, subsystem_id: subsystem }: Row, zone: Row): boolean {
  return (
    (isNamed(type) || isNamed(device) || isNamed(subsystem)) &&
    (!isNamed(type) || type === zone.type) &&
    (!isNamed(device) || device === zone.device_id) &&
    (!isNamed(subsystem) || subsystem === zone.subsystem_id)
  )
}

function isNamed(value: unknown): boolean {
  return value !== null && value !== undefined
}

/** By words of the type, `light_dimmer` or `rollerShutter`; nothing is offered for what nobody knows. */
function usual(type: unknown): readonly string[] {
  if (typeof type !== 'string') return []
  const name = type.toLowerCase()
  const kind = KINDS.find(([words]) => words.some((word) => (word.length > 2 ? name.includes(word) : name === word)))
  return kind?.[1] ?? []
}
