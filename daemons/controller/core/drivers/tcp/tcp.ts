/** Driver for devices that take lines over TCP: `<address> <command> <args as JSON>`, one line per command. */
import { Fault } from '#kit/pure/fault.ts'
import type { Row } from '../../site/book.ts'
import { type Driver, type DriverCommand, tcpPlaceOf } from '../driver.ts'

/** Longest line, including its end: such devices have a small buffer for a line. */
const LONGEST_LINE = 8192

/**
 * A command is done when the kernel has accepted its line: the form of these devices' answers is unknown. A device that
 * cannot be reached is lost. The line uses the zone's address, or the device's if the zone has none.
 */
export function createTcpDriver(): Driver {
  return {
    name: 'tcp',
    reads: () => ({ transport: ['host', 'port'], config: [], polls: false }),
    flaw: flawOf,
    async open(device, _zones, context) {
      const sender = context.sender(tcpPlaceOf(device))
      return {
        async execute(command, signal) {
          const line = commandLine(device, command)
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
    tcpPlaceOf(device)
    return undefined
  } catch (fault) {
    return (fault as Fault).message
  }
}

/** Line ends to some programs that JSON does not escape: the next line would be a command that no gate has checked. */
const LINE_ENDS_OF_SOME = /[\u007f-\u009f\u2028\u2029]/g

/**
 * @returns one line in UTF-8 with its LF; JSON contains no line end, and what other programs take for one is escaped
 * @throws Fault `line_invalid` if address or verb is not a single word, or the line is too long
 */
export function commandLine(device: Row, { zone, verb, args }: DriverCommand): Uint8Array {
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

/** The address of a zone or device as text; empty if it has none. */
function textOf({ address }: Row): string {
  return typeof address === 'string' || typeof address === 'number' ? String(address) : ''
}

/** A space would begin the next word, a line end the next command. */
function checkWord(what: string, word: string): void {
  if (word === '' || /[\s\p{C}]/u.test(word))
    throw new Fault('line_invalid', `${what} is empty, or has a space, a line end or a control character`)
}
