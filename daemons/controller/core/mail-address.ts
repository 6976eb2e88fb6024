/** Which texts are mail addresses that a code may be sent to. */

/** One address, no list, no name, no comment, no quotes; nothing that means something to SMTP or to a header. */
const ADDRESS = /^[^\s@<>()[\]\\,;:"\p{C}]{1,64}@[^\s@<>()[\]\\,;:"\p{C}]{1,253}$/u

/** @param value of a column `email`, or typed @source RFC 5321, 4.5.3.1 for the lengths */
export function isMailAddress(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 254 && value.isWellFormed() && ADDRESS.test(value)
}
