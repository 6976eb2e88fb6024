/** Why a command was not carried out, in words for who pressed. */
import { CallFault, NoContact } from '#kit/web/call.ts'
import { ended } from '#kit/web/sentences.ts'
import type { Json } from '../core/row.ts'
import { RunFault, type RunStep } from './api.ts'

const SENTENCES: Readonly<Record<string, string>> = {
  unauthorized: 'Your role does not allow this here.',
  'unknown target': 'The building has no such zone any more. Load the page anew.',
  'unknown macro': 'There is no such macro any more.',
  'command required': 'The controller did not find a command in what this page sent.',
  driver_timeout: 'The device did not answer within 5 s.',
  driver_failed: 'The device refused, or the line to it failed.',
  driver_queue_full: 'Too many commands wait for this device. Try again in a moment.',
  driver_unknown: 'No driver is set up for this device.',
  device_disabled: 'The device is switched off in the settings.',
  command_disabled: 'This command is switched off in the settings.',
  zone_without_device: 'The zone has no device that could do it.',
  'not authorized': 'It leads to something that your role does not allow.',
  macro_busy: 'The macro runs already.',
  macro_wait_timeout: 'What it waited for did not come.',
  macro_timed_out: 'It did not end in its time.',
}

/** A sentence, or two: what was the case, and what to do where there is something. */
export function commandSentence(thrown: unknown): string {
  if (thrown instanceof NoContact) return 'No answer from the controller; whether it was done is not known.'
  if (!(thrown instanceof CallFault)) return thrown instanceof Error ? thrown.message : String(thrown)
  if (stepsOfFault(thrown).length > 0) return 'Not done: a step failed, and the macro ended there.'
  if (Object.hasOwn(SENTENCES, thrown.code)) return SENTENCES[thrown.code] ?? thrown.message
  if (thrown.status !== 200) return thrown.message
  // What a device did not do: its driver's own words.
  const said = /without a reason/.test(thrown.message) ? thrown.code : thrown.message
  return ended(`Not done: ${said}`)
}

/** Steps of a run that failed, in a sentence each, those of macros that it called among them. */
export function failedSteps(steps: readonly RunStep[], place = ''): string[] {
  const last = new Map(steps.map(({ step }, at) => [step, at]))
  return steps.flatMap((one, at) => {
    // What another try made good has not failed; a parallel step failed by its branches, a call by what it called.
    const inner = failedSteps(one.steps ?? [], `${place}${one.step}, `)
    if (inner.length > 0 || one.state !== 'failed' || one.type === 'parallel' || last.get(one.step) !== at) return inner
    const why = one.message ?? SENTENCES[one.error ?? ''] ?? one.error ?? 'it failed'
    return [ended(`Step ${place}${one.step}, ${stepWords(one)}: ${why}`)]
  })
}

/** The failed steps that a refusal tells of. */
export function stepsOfFault(thrown: unknown): string[] {
  return thrown instanceof RunFault ? failedSteps(thrown.steps) : []
}

function stepWords({ type, decided }: RunStep): string {
  const said = (decided ?? {}) as { readonly [key: string]: Json }
  if (type !== 'command' || typeof said.command !== 'string') return `a ${type}`
  const target = said.zone ?? said.device ?? (said.zone_id ? `zone ${said.zone_id}` : `device ${said.device_id}`)
  return `${said.command} on ${target}`
}
