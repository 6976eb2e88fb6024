/** A name that people give a box. */
import { Type } from 'typebox'

/** 1 to 64 characters, no control characters, no blank at either end. */
export const nameText = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[^\\s\\p{C}](?:[^\\p{C}]*[^\\s\\p{C}])?$',
  description: 'name on the plate, 1 to 64 characters, no blank at either end',
})
