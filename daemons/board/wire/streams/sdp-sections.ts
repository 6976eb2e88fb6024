/** An SDP as sections of lines: the session, and each of its media. */
import { Fault } from '#kit/fault.ts'

/** Lines that stand together, in their order. */
export interface SdpSection {
  /** By type, one letter each: `c` or `m`. Attributes are not among them. */
  fields: ReadonlyMap<string, string>
  /** What stands behind `a=`, name and value. */
  attributes: readonly { name: string; value: string }[]
}

/** The longest description that is read; SAP packets are no longer. */
export const LONGEST_SDP = 8192
/** A description of a board's own has about twenty. */
const MOST_LINES = 512

/**
 * @param text lines end with CRLF, or with LF as some senders have it; lines that are none are left out
 * @returns the session first, then its media
 * @throws Fault `sdp_malformed` for a text that is no description, or is too long
 * @source RFC 4566, 5
 */
export function sectionsOf(text: string): { session: SdpSection; media: SdpSection[] } {
  if (text.length > LONGEST_SDP)
    throw new Fault('sdp_malformed', `the description has ${text.length} characters; at most ${LONGEST_SDP} are read`)
  const lines = text.split(/\r\n|\n|\r|\0/, MOST_LINES + 1)
  if (lines.length > MOST_LINES) throw new Fault('sdp_malformed', `the description has more than ${MOST_LINES} lines`)
  if (!/^v=0\s*$/.test(lines[0] ?? ''))
    throw new Fault('sdp_malformed', 'the text does not begin with v=0, as every description does')
  let section = newSection()
  const sections = [section]
  for (const line of lines) {
    const [, type, value] = /^([a-z])=(.*)$/.exec(line) ?? []
    if (type === undefined || value === undefined) continue
    if (type === 'm') {
      section = newSection()
      sections.push(section)
    }
    if (type === 'a') section.attributes.push(attributeOf(value.trim()))
    else if (!section.fields.has(type)) section.fields.set(type, value.trim())
  }
  const [session = newSection(), ...media] = sections
  return { session, media }
}

function newSection() {
  return { fields: new Map<string, string>(), attributes: [] as { name: string; value: string }[] }
}

function attributeOf(text: string): { name: string; value: string } {
  const colon = text.indexOf(':')
  if (colon < 0) return { name: text.toLowerCase(), value: '' }
  return { name: text.slice(0, colon).trim().toLowerCase(), value: text.slice(colon + 1).trim() }
}
