/** Devices that take lines over TCP and have no command set: `<address> <command> <args as JSON>`, one line a command. */
import { Fault } from '#kit/pure/fault.ts'
import type { Row } from '../../site/book.ts'
import { type Driver, type DriverCommand, placeOf } from '../driver.ts'

/** Longest line, its end included: what takes lines has a small buffer for one. */
const LONGEST_LINE = 8192

/**
 * A command is done when the kernel has its line: these devices answer in no form that is known. One that cannot be
 * reached is lost. The zone's address counts, that of the device where there is none.
 */
export function createTcpDriver(): Driver {
  return {
    name: 'tcp',
    reads: { transport: ['host', 'port'], config: [], polls: false },
    flaw: flawOf,
    async open(device, _zones, context) {
      const sender = context.sender(placeOf(device))
      return {
        async execute(command, signal) {
          const line = lineOf(device, command)
          try {
            await sender.send(line, signal)
          } catch (error) {
            if (!signal.aborted) context.online(false, (error as Error).message)
            throw error
          }
          return {}
        },
        async close() {}, // its connection ends with its context
      }
    },
  }
}

function flawOf(device: Row): string | undefined {
  try {
    placeOf(device)
    return undefined
  } catch (fault) {
    return (fault as Fault).message
  }
}

/** What some programs end a line at, and JSON lets stand: the next line would be a command that nobody has judged. */
const LINE_ENDS_OF_SOME = /[\u007f-\u009f\u2028\u2029]/g

/**
 * @returns one line in UTF-8 with its LF; JSON has no line end of its own, and what others take for one is escaped
 * @throws Fault `line_invalid` where address or verb would not be one word of a line, or the line is too long
 */
export function lineOf(device: Row, { zone, verb, args }: DriverCommand): Uint8Array {
  const [owner, address] =
    zone && textOf(zone) !== '' ? [`zone ${zone.id}`, textOf(zone)] : [`device ${device.id}`, textOf(device)]
  if (address === '') throw new Fault('line_invalid', `${owner} has no address`)
  checkWord(`the address of ${owner}`, address)
  checkWord('the command', verb)
  const said = JSON.stringify(args).replace(LINE_ENDS_OF_SOME, escaped)
  const line = new TextEncoder().encode(`${address} ${verb} ${said}\n`)
  if (line.length > LONGEST_LINE)
    throw new Fault('line_invalid', `the line has ${line.length} bytes, at most ${LONGEST_LINE} are sent`)
  return line
}

function escaped(sign: string): string {
  return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** The address of a zone or device as text, empty where it has none. */
function textOf({ address }: Row): string {
  return typeof address === 'string' || typeof address === 'number' ? String(address) : ''
}

/** A space would begin the next word, a line end the next command. */
function checkWord(what: string, word: string): void {
  if (word === '' || /[\s\p{C}]/u.test(word))
    throw new Fault('line_invalid', `${what} is empty, or has a space, a line end or a control character`)
}
