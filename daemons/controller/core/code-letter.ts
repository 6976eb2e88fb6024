/** The mail with a code. */
import type { Letter } from './people-ports.ts'

/** @param code as it is typed; nothing that the account chose itself stands in the mail but its address */
export function codeLetter(to: string, code: string, ttlSeconds: number): Letter {
  return {
    to,
    subject: 'Your sign-in code',
    text: [
      `Your sign-in code is ${code}`,
      '',
      `It can be used once, within ${lifeText(ttlSeconds)}. If you did not just sign in, somebody else knows your password:`,
      'change it.',
      '',
    ].join('\n'),
    lifeMs: ttlSeconds * 1000,
  }
}

function lifeText(seconds: number): string {
  if (seconds < 120) return `${seconds} seconds`
  return `${Math.floor(seconds / 60)} minutes`
}
