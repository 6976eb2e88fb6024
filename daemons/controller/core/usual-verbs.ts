/** The verbs that are usual for a zone of a type, where the building defines none. */

/** Verbs by kind of zone; the first kind with a word that occurs in the type's name applies. */
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

/** Matches words of the type, such as `light_dimmer` or `rollerShutter`; nothing is offered for unknown types. */
export function usualVerbs(type: unknown): readonly string[] {
  if (typeof type !== 'string') return []
  const name = type.toLowerCase()
  const kind = KINDS.find(([words]) => words.some((word) => (word.length > 2 ? name.includes(word) : name === word)))
  return kind?.[1] ?? []
}
