/** Why a command was not carried out, in words for who pressed. */
import { CallFault, NoContact } from '#kit/web/call.ts'
import { ended } from '#kit/web/sentences.ts'

const SENTENCES: Readonly<Record<string, string>> = {
  unauthorized: 'Your role does not allow this here.',
  'unknown target': 'The building has no such zone any more. Load the page anew.',
  'unknown macro': 'There is no such macro any more.',
  'command required': 'The controller did not find a command in what this page sent.',
  driver_timeout: 'The device did not answer within 5 s.',
  driver_failed: 'The device refused, or the line to it failed.',
  driver_queue_full: 'Too many commands wait for this device. Try again in a moment.',
  driver_unknown: 'No driver is set up for this device.',
}

/** A sentence, or two: what was the case, and what to do where there is something. */
export function commandSentence(thrown: unknown): string {
  if (thrown instanceof NoContact) return 'No answer from the controller; whether it was done is not known.'
  if (!(thrown instanceof CallFault)) return thrown instanceof Error ? thrown.message : String(thrown)
  if (Object.hasOwn(SENTENCES, thrown.code)) return SENTENCES[thrown.code] ?? thrown.message
  if (thrown.status !== 200) return thrown.message
  // What a device did not do: its driver's own words.
  const said = /without a reason/.test(thrown.message) ? thrown.code : thrown.message
  return ended(`Not done: ${said}`)
}
