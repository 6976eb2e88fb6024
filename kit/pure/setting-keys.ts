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
