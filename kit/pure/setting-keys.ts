/** Forms that most settings have. */
import { Type } from 'typebox'

/** A whole number. */
export function count(byDefault: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, description })
}

/** A time in milliseconds. */
export function milliseconds(byDefault: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, unit: 'ms', description })
}

/** A size in bytes. */
export function bytes(byDefault: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, unit: 'bytes', description })
}

const HOURS = /^(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-3]):[0-5]\d$/

/** Whether a text is hours of a day, HH:MM-HH:MM. */
export function isHours(text: string): boolean {
  return HOURS.test(text)
}

/** Hours of a day, HH:MM-HH:MM, or empty, which is the default. @param more words that may stand there instead */
export function hours(description: string, more: readonly string[] = []) {
  const expected = `expected hours such as 02:00-05:00${more.map((word) => `, ${word}`).join('')}, or nothing`
  const check = (value: unknown) =>
    value === '' || more.includes(String(value)) || isHours(String(value)) ? undefined : expected
  return Type.String({ default: '', maxLength: 11, check, description })
}

/** @param window HH:MM-HH:MM, over midnight too; as long as a day where both are the same. @param minute of the day */
export function isWithinHours(window: string, minute: number): boolean {
  const [from = 0, until = 0] = window.split('-').map((text) => {
    const [hours = 0, minutes = 0] = text.split(':').map(Number)
    return 60 * hours + minutes
  })
  const after = (to: number) => (to - from + 1440) % 1440
  return from === until || after(minute) < after(until)
}
