/** Takes what pmc prints apart, as it comes. */
import { type PmcAnswer, pmcMessages } from './pmc-answer.ts'

/** Characters of one line that are kept; no line of pmc's is as long. */
const LONGEST_LINE = 1024
/** Fields of one message that are kept; none has as many. */
const MOST_FIELDS = 64

export interface PmcReader {
  /** @returns the answers that are whole now. Lines that make no sense, and messages that lack a field, are skipped. */
  push(text: string): PmcAnswer[]
}

/**
 * An answer is whole with the last field that its kind has: pmc prints nothing behind it until it is asked again.
 * @source linuxptp pmc.c, pmc_show
 */
export function createPmcReader(): PmcReader {
  let rest = ''
  let name: string | undefined
  let fields = new Map<string, string>()

  function line(text: string): PmcAnswer | undefined {
    const head = /^\t[0-9a-f.]+-\d+ seq \d+ RESPONSE MANAGEMENT ([A-Z_]+)\s*$/.exec(text)
    if (head || !text.startsWith('\t\t')) {
      name = head?.[1]
      fields = new Map()
      return undefined
    }
    const field = /^\t\t(\S+)\s+(\S+)\s*$/.exec(text)
    const message = name === undefined ? undefined : pmcMessages[name]
    if (!field || !message || fields.size >= MOST_FIELDS) return undefined
    const [, key = '', value = ''] = field
    fields.set(key, value)
    if (key !== message.last) return undefined
    name = undefined
    return message.read(fields)
  }

  return {
    push(text) {
      const lines = (rest + text).split('\n')
      rest = (lines.pop() ?? '').slice(0, LONGEST_LINE)
      return lines.map((each) => line(each.slice(0, LONGEST_LINE))).filter((answer) => answer !== undefined)
    },
  }
}
