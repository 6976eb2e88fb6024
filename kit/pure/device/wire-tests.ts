/** Runs the wire tests of a definition: a command gives these bytes, these bytes give those values. */

import { hexOf } from '../bytes.ts'
import { Fault } from '../fault.ts'
import type { DefinitionFault } from './compile.ts'
import type { DeviceValue, WireTest } from './definition.ts'
import {
  answerOf,
  commandOf,
  contentOf,
  createDeviceCutter,
  createLoginRun,
  type Device,
  type DeviceCommand,
  type DeviceReport,
  type Digest,
  messageBytes,
  readConfig,
  reportWhenSent,
  unsolicitedReport,
  wireValues,
  zoneText,
} from './device.ts'
import { literalBytes } from './template.ts'
import { type ReadArg, readArgs } from './values.ts'

/** @returns each test that does not hold, and each command that has none */
export function wireTestFaults(device: Device, digest: Digest): DefinitionFault[] {
  const { tests } = device.definition
  const faults = tests.flatMap((test, index) => {
    try {
      const message = testFlaw(device, test, digest)
      return message === undefined ? [] : [{ path: `tests[${index}]`, message }]
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return [{ path: `tests[${index}]`, message: error.message }]
    }
  })
  const tested = new Set(tests.filter(({ sends }) => sends !== undefined).map(({ command }) => command))
  const untested = [...device.commands.keys()].filter((name) => !tested.has(name))
  const missing = untested.map((name) => ({ path: `commands.${name}`, message: 'no wire test says what it sends' }))
  const isLoginTested = device.login.length === 0 || tests.some(({ login }) => login !== undefined)
  return [...faults, ...missing, ...(isLoginTested ? [] : [{ path: 'login', message: 'no wire test goes through it' }])]
}

function testFlaw(device: Device, test: WireTest, digest: Digest): string | undefined {
  if (test.login) return loginFlaw(device, test.login, test, digest)
  if (test.command === undefined) return heardFlaw(device, test)
  return commandFlaw(device, commandOf(device, test.command), test)
}

function commandFlaw(device: Device, command: DeviceCommand, test: WireTest): string | undefined {
  const zoned = device.zoneArg !== undefined && test.zone !== undefined ? { [device.zoneArg]: test.zone } : {}
  const args = readArgs(command.args, { ...zoned, ...test.args }, device.definition.enums)
  const config = readConfig(device, test.config ?? {})
  const values = wireValues(args, config)
  const sent = messageBytes(device, command.send, values)
  const flaw = test.sends === undefined ? undefined : bytesFlaw('it sends', sent, literalBytes(test.sends))
  if (flaw !== undefined) return flaw
  if (test.hears === undefined) return whenSentFlaw(device, { command, args, test })
  const answer = answerOf(device, command, frameOf(device, test.hears), { args, values })
  if (!answer) return 'what it hears is no answer to the command'
  if (!answer.isDone) return test.fails === answer.says ? undefined : `it is refused: ${answer.says}`
  return test.fails === undefined ? reportFlaw(answer, test) : 'it is done, and was to be refused'
}

interface WhenSent {
  command: DeviceCommand
  args: ReadonlyMap<string, ReadArg>
  test: WireTest
}

function whenSentFlaw(device: Device, { command, args, test }: WhenSent): string | undefined {
  if (test.gives === undefined) return undefined
  if (command.reply.length > 0) return 'an answer is awaited before it gives anything: add hears'
  return reportFlaw(reportWhenSent(device, command, args), test)
}

function heardFlaw(device: Device, test: WireTest): string | undefined {
  if (test.hears === undefined) return 'it has no command, no login, and hears nothing'
  const report = unsolicitedReport(device, frameOf(device, test.hears))
  return report ? reportFlaw(report, test) : 'no pattern of unsolicited fits what it hears'
}

function loginFlaw(
  device: Device,
  steps: NonNullable<WireTest['login']>,
  test: WireTest,
  digest: Digest,
): string | undefined {
  const run = createLoginRun(device, readConfig(device, test.config ?? {}), digest)
  let now = run.begin()
  let unsent = [...now.sends]
  for (const [index, step] of steps.entries()) {
    if ('sends' in step) {
      const bytes = unsent.shift()
      if (!bytes) return `step ${index + 1}: it sends nothing`
      const flaw = bytesFlaw(`step ${index + 1}: it sends`, bytes, literalBytes(step.sends))
      if (flaw !== undefined) return flaw
      continue
    }
    const heard = run.hear(frameOf(device, step.hears))
    if (!heard) return `step ${index + 1}: what it hears has nothing to do with the login`
    now = heard
    unsent = [...unsent, ...heard.sends]
  }
  if (unsent.length > 0) return `it sends ${hexOf(unsent[0] as Uint8Array)} too`
  if (now.state === 'failed') return test.fails === now.says ? undefined : `it fails: ${now.says}`
  if (test.fails !== undefined) return 'it does not fail'
  return now.state === 'ready' ? undefined : 'it is not ready at the end'
}

/** @throws Fault `device_text` if the text is not exactly one message of the device */
function frameOf(device: Device, hears: string): Uint8Array {
  const cut = createDeviceCutter(device)
  const [frame, ...more] = cut(literalBytes(hears))
  if (!frame || frame.isCut || more.length > 0 || frame.bytes.length !== literalBytes(hears).length)
    throw new Fault('device_text', 'what it hears is not exactly one message by framing')
  return contentOf(device, frame.bytes)
}

function bytesFlaw(what: string, seen: Uint8Array, expected: Uint8Array): string | undefined {
  return hexOf(seen) === hexOf(expected) ? undefined : `${what} ${hexOf(seen)}, expected ${hexOf(expected)}`
}

function reportFlaw({ values, zone }: DeviceReport, test: WireTest): string | undefined {
  if (test.zone !== undefined && zoneText(test.zone) !== zone)
    return `it is of zone ${zone ?? 'none'}, expected ${test.zone}`
  const expected = test.gives ?? {}
  const names = new Set([...Object.keys(values), ...Object.keys(expected)])
  const wrong = [...names].find((name) => said(values, name) !== said(expected, name))
  return (
    wrong &&
    `it gives ${wrong} ${JSON.stringify(said(values, wrong) ?? 'nothing')}, expected ${JSON.stringify(said(expected, wrong) ?? 'nothing')}`
  )
}

function said(values: Readonly<Record<string, DeviceValue>>, name: string): DeviceValue | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}
