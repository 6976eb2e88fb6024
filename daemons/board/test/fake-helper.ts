/** A fake helper: records requests, and answers as told. */
import { Fault } from '#kit/pure/fault.ts'
import type { RootHelper } from '../core/machine/ports.ts'
import type { HelperVerb } from '../wire/helper-line.ts'

/** The fake, and the requests it received. */
export interface FakeHelper extends RootHelper {
  /** Each request as its words, `usbip-bind 1-1`, in order. */
  asked: string[]
  /** The descriptors that came with them, in order. */
  descriptors: number[]
  /** From now on refuses this verb with the helper's code (`busy`), or answers it with a text. */
  answers(verb: HelperVerb, answer: { reason: string } | { text: string }): void
}

/** @returns a helper that does nothing and answers ok to everything */
export function fakeHelper(): FakeHelper {
  const asked: string[] = []
  const descriptors: number[] = []
  const answers = new Map<HelperVerb, { reason: string } | { text: string }>()
  return {
    asked,
    descriptors,
    answers: (verb, answer) => void answers.set(verb, answer),
    async ask(verb, args = [], fd) {
      asked.push([verb, ...args].join(' '))
      if (fd !== undefined) descriptors.push(fd)
      const answer = answers.get(verb)
      if (answer === undefined) return ''
      if ('text' in answer) return answer.text
      throw new Fault('helper_refused', `the helper that runs as root refuses: ${answer.reason}`, {
        details: { reason: answer.reason },
      })
    },
  }
}
