/**
 * Protocol between the board and the helper that runs as root: one line each way.
 * @source our own protocol: native/helper/src/request.h and native/helper/src/verbs.h
 */
import { Fault } from '#kit/pure/fault.ts'

/** Everything the helper can do; native/helper/src/verbs.cc has the same list. */
export type HelperVerb =
  | 'usbip-bind'
  | 'usbip-unbind'
  | 'usbip-attach'
  | 'usbip-detach'
  | 'hostname'
  | 'network'
  | 'reboot'
  | 'lamp'
  | 'install'

/** Longest answer in characters, with its newline; a longer one is invalid. */
export const LONGEST_ANSWER = 512

/**
 * Formats a request, with its newline.
 * @param args words of printable ASCII without spaces
 * @throws Fault `helper_refused` for any other: the helper would refuse it too
 */
export function helperLine(verb: HelperVerb, args: readonly string[] = []): string {
  const bad = args.find((word) => !/^[!-~]+$/.test(word))
  if (bad !== undefined) throw refusal('bad_request', `${JSON.stringify(bad)} is not one word of printable ASCII`)
  return `${[verb, ...args].join(' ')}\n`
}

/**
 * Parses an answer.
 * @param line `ok`, `ok TEXT` or `error CODE SENTENCE`, with its newline
 * @returns the text, empty if there is none
 * @throws Fault `helper_refused`, whose details have the helper's own code as `reason`
 */
export function openHelperAnswer(line: string): string {
  const [, ok, text = '', code, sentence] = /^(?:(ok)(?: ([ -~]*))?|error ([a-z_]{1,40}) ([ -~]+))\n$/.exec(line) ?? []
  if (ok !== undefined) return text
  if (code !== undefined && sentence !== undefined) throw refusal(code, sentence)
  throw refusal('bad_answer', 'the answer is neither ok nor an error')
}

function refusal(reason: string, sentence: string): Fault {
  return new Fault('helper_refused', `the helper that runs as root refuses: ${sentence}`, { details: { reason } })
}
