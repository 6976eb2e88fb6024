/** What somebody typed to sign in. */

export interface SignInForm {
  username: string
  password: string
  /** Undefined where none was submitted. */
  code: string | undefined
  /** The password is longer than any that is kept: nobody has it. */
  isTooLong: boolean
}

/**
 * Longest password in UTF-16 units. To compose letters takes a time that grows with the square of how many accents
 * follow each other: 12 s for 128 KiB of them, 0.3 ms for these (measured).
 */
export const LONGEST_PASSWORD = 1024

/** Stands for a code that was submitted and is no text: none is like it. */
const NO_CODE = '?'

/**
 * Reads the body of a sign-in. Fields beyond those are left alone.
 * @returns undefined where the name or the password is missing, empty, or no text
 * @source document 1, POST /api/token
 */
export function readForm(body: unknown): SignInForm | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const field = (name: string): unknown =>
    Object.hasOwn(body, name) ? (body as Record<string, unknown>)[name] : undefined
  const username = field('username')
  const password = field('password')
  if (typeof username !== 'string' || typeof password !== 'string' || username === '' || password === '')
    return undefined
  const isTooLong = password.length > LONGEST_PASSWORD
  return { username, password: isTooLong ? '' : password, code: codeOf(field('two_factor_token')), isTooLong }
}

/** Blanks around it come along when it is copied from a mail. A form with an empty field submits none. */
function codeOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string') return NO_CODE
  const code = value.trim()
  return code === '' ? undefined : code
}
