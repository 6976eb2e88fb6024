/** Commands of a DNP3 master: selected first and operated then, or at once; answered by the policy of the settings. */
import type { Clock } from '#kit/clock.ts'
import { isSameBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { FC, IIN, type ObjectHeader, type Request, readHeaders } from '../../wire/dnp3/application.ts'
import { type Command, commandSize, isKnownControl, openCommand } from '../../wire/dnp3/objects.ts'
import type { Block } from './reading.ts'

/** What a command is answered with. @source IEEE 1815-2012, Table A-20 */
const COMMAND_STATUS = {
  success: 0,
  timeout: 1,
  no_select: 2,
  not_supported: 4,
  hardware_error: 6,
  local: 7,
  not_authorized: 9,
} as const

/** The answers that the settings may choose. */
export const commandAnswers = ['success', 'not_supported', 'hardware_error', 'local', 'not_authorized'] as const
type CommandAnswer = (typeof commandAnswers)[number]

/** A command that was to be carried out, with what the master was told. */
export type AnsweredCommand = Command & { status: CommandAnswer; isDirect: boolean }

interface CommandDeskParts {
  clock: Pick<Clock, 'monotonicMs'>
  answer: CommandAnswer
  selectTimeoutMs: number
  onCommand(command: AnsweredCommand): void
}

export class CommandDesk {
  readonly #parts: CommandDeskParts
  #selected: { objects: Uint8Array; sequence: number; untilMs: number } | undefined

  constructor(parts: CommandDeskParts) {
    this.#parts = parts
  }

  forget(): void {
    this.#selected = undefined
  }

  /** @returns null where nothing is answered. @throws Fault `dnp3_objects` */
  take(request: Request): { blocks: readonly Block[]; iin: number } | null {
    const headers = readHeaders(request.objects, commandSize)
    if (headers.some(({ group, variation }) => commandSize(group, variation) === undefined))
      return { blocks: [], iin: IIN.objectUnknown }
    const commands = headers.map((header) => commandsOf(header))
    const status = this.#carryOut(request, commands.flat())
    if (request.function === FC.directOperateNoReply) return null
    const blocks = headers.map((header, at) => {
      const all = (commands[at] ?? []).map((one) => COMMAND_STATUS[isKnownControl(one) ? status : 'not_supported'])
      return { bytes: withStatus(header, all), serials: [] }
    })
    return { blocks, iin: 0 }
  }

  #carryOut(request: Request, commands: readonly Command[]): keyof typeof COMMAND_STATUS {
    const { answer, clock, onCommand, selectTimeoutMs } = this.#parts
    const { control, function: code, objects } = request
    const wrong = code === FC.operate ? this.#whyNotSelected(request) : undefined
    this.#selected = undefined
    if (wrong) return wrong
    if (code === FC.select) {
      const untilMs = clock.monotonicMs() + selectTimeoutMs
      if (answer === 'success') this.#selected = { objects: objects.slice(), sequence: control.sequence, untilMs }
      return answer
    }
    for (const command of commands)
      if (isKnownControl(command)) onCommand({ ...command, status: answer, isDirect: code !== FC.operate })
    return answer
  }

  /** An operate follows its select at once, with the same objects and the next number. */
  #whyNotSelected({ control, objects }: Request): 'timeout' | 'no_select' | undefined {
    const selected = this.#selected
    if (!selected || control.sequence !== ((selected.sequence + 1) & 0x0f)) return 'no_select'
    if (!isSameBytes(objects, selected.objects)) return 'no_select'
    return this.#parts.clock.monotonicMs() > selected.untilMs ? 'timeout' : undefined
  }
}

function commandsOf({ group, objects, range, variation }: ObjectHeader): Command[] {
  if (range.kind !== 'prefixed') throw new Fault('dnp3_objects', 'A command stands behind the index of its point.')
  return objects.map((object, at) => openCommand(group, variation, range.indices[at] ?? 0, object))
}

/** The objects as they came, each with its status in its last byte. */
function withStatus({ bytes, objects, qualifier }: ObjectHeader, status: readonly number[]): number[] {
  const width = qualifier === 0x17 ? 1 : 2
  const all = [...bytes]
  let at = 3 + width
  for (const [one, object] of objects.entries()) {
    at += width + object.length
    all[at - 1] = status[one] ?? 0
  }
  return all
}
