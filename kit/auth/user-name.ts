/** How a new user may be called, and what a new password is. */
import { Type } from 'typebox'

/**
 * Letters of the European Latin alphabets (Basic Latin, Latin-1, Latin Extended-A). The dotless i is left out: beside an
 * i nobody sees it. Letters of other scripts would make names that look alike and are not, such as one with a Cyrillic a.
 */
const LETTER = 'A-Za-z0-9\\u00C0-\\u00D6\\u00D8-\\u00F6\\u00F8-\\u0130\\u0132-\\u017F'

/** A new user's name. Single signs stand between letters only, so that no name begins like a key's or a program's. */
export const userName = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: `^[${LETTER}]+(?:[ ._@+-][${LETTER}]+)*$`,
  description: 'Latin letters and digits, with single blanks or . _ - @ + between them',
})

/** What nobody can type, and what a header of Basic cannot hold. */
const typed = {
  maxLength: 256,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  description: 'without control characters',
}

/** A new password, over HTTP and by `plantroom password` alike. */
export const newPassword = Type.String({ minLength: 8, ...typed, format: 'password' })

/**
 * The same of a daemon with one user alone, who signs in with Basic: what a header can hold, and what somebody can type. There is
 * no lower bound, since the interface says that any value sets it (2, B, POST /api/password). @source RFC 7617, 2
 */
export const newBasicPassword = Type.String({
  minLength: 1,
  ...typed,
  format: 'password',
})
