/** Names of machines and roles in settings, announcements and answers. */

/** @source Interface 2, B, rule 4 */
export const roleNames = ['encoder', 'decoder', 'serial', 'usbip'] as const

/** One of the roles. */
export type RoleName = (typeof roleNames)[number]

/**
 * Why a text cannot be a board's host name; undefined if it can.
 * @source RFC 1123, 2.1: letters, digits and hyphens, of 63 at most, beginning and ending with a letter or digit
 */
export function hostLabelFault(text: string): string | undefined {
  if (text === '') return 'A board needs a name on the network, such as lobby-ceiling.'
  if (text.length > 63) return `It has ${text.length} characters. A name on the network has 63 at most.`
  if (text.includes('.')) return `Leave the domain out: ${text.split('.', 1)[0] || 'lobby-ceiling'} alone is the name.`
  const wrong = /[^a-z0-9-]/i.exec(text)?.[0]
  if (wrong !== undefined)
    return `${wrong === ' ' ? 'A space' : JSON.stringify(wrong)} cannot stand in it. Use letters, digits and hyphens.`
  if (text.startsWith('-') || text.endsWith('-'))
    return 'It begins and ends with a letter or a digit, not with a hyphen.'
  // A browser reads http://123/ and http://0x7f/ as the addresses 0.0.0.123 and 0.0.0.127.
  if (/^(?:\d+|0x[0-9a-f]*)$/i.test(text)) return 'It needs a letter: a browser takes a number for an address.'
  if (text.toLowerCase() === 'localhost') return 'localhost is what every machine calls itself. Take another name.'
  return undefined
}
