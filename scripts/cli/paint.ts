/** What a command says, in colours where a terminal shows them. */
import { escapeLines } from '#kit/pure/text.ts'

/** A part of what is said that stands out. */
export interface Toned {
  tone: 'good' | 'warning' | 'bad' | 'quiet'
  text: string
}

/** A text, or its parts one behind the other. */
export type Said = string | readonly (string | Toned)[]

/** Select Graphic Rendition (ECMA-48, 8.3.117): the colours that every terminal has, which follow its own theme. */
const SGR: Readonly<Record<Toned['tone'], number>> = { good: 32, warning: 33, bad: 31, quiet: 2 }

/** Whether a stream takes colours: a terminal, unless NO_COLOR is set (no-color.org) or it has none. */
export function isPainted(isTty: boolean | undefined, env: NodeJS.ProcessEnv): boolean {
  return isTty === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
}

/**
 * What goes to the terminal. Each part is escaped by itself, so that no name which a device has given itself paints or
 * moves anything.
 */
export function paintedText(said: Said, inColours: boolean): string {
  const parts = typeof said === 'string' ? [said] : said
  return parts.map((part) => (typeof part === 'string' ? escapeLines(part) : tonedText(part, inColours))).join('')
}

function tonedText({ text, tone }: Toned, inColours: boolean): string {
  const plain = escapeLines(text)
  return inColours && plain !== '' ? `\x1b[${SGR[tone]}m${plain}\x1b[0m` : plain
}
