/** What a refused sign-in says: what to do next, and never which of name and password was wrong. */
import { ended } from '#kit/web/sentences.ts'

const SENTENCES: Readonly<Record<string, string>> = {
  missing_credential: 'Type both, the user name and the password.',
  invalid_credential:
    'Name and password fit no account that may sign in here. Check both; capitals count in the password.',
  remote_denied: "This account signs in from the site's own network only. Connect to it, then try again.",
  no_sites: 'This account belongs to no site yet. An administrator adds it to one.',
  no_roles: 'This account has no role yet. An administrator gives it one.',
  '2fa_no_email': 'This account needs a mailed code and has no mail address. An administrator enters one.',
  '2fa_mismatch':
    'This is not the code of the newest mail, or its time is over. Check the mail, or have a new code sent.',
}

/** @param error of the envelope @param message of the envelope, for what is not known here */
export function signInSentence(error: string, message: string): string {
  if (Object.hasOwn(SENTENCES, error)) return SENTENCES[error] ?? message
  const text = message === '' ? error : message
  return ended(`The controller refused: ${text}`)
}

/** What stands beside the code: how long it is good, or that it is over. */
export function codeLifeText(leftMs: number): string {
  if (leftMs <= 0) return 'The time for this code is over. Have a new one sent.'
  const seconds = Math.ceil(leftMs / 1000)
  const rest = String(seconds % 60).padStart(2, '0')
  return `Good for another ${Math.floor(seconds / 60)}:${rest}.`
}

/** A code as it is compared: capitals, without the spaces that people type. */
export function typedCode(text: string): string {
  return text.replaceAll(/[\s-]/g, '').toUpperCase()
}
