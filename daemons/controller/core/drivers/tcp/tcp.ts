/**
 * Drivers for devices behind a socket: messages of their config, over TCP or UDP. A tcp device without any takes lines:
 * `<address> <command> <args as JSON>`, one line per command.
 */
import { Fault } from '#kit/pure/fault.ts'
import type { Row } from '../../site/book.ts'
import { type Driver, type DriverCommand, tcpPlaceOf } from '../driver.ts'
import { flawIn, hasPolls } from '../row-config.ts'
import { hasMessages, MESSAGE_KEYS, openMessages, readMessages, sendOrLose } from './messages.ts'

/** Longest line, including its end: such devices have a small buffer for a line. */
const LONGEST_LINE = 8192

/**
 * Without commands in its config a device gets lines. A command is done when the kernel has accepted its line: the form
 * of these devices' answers is unknown. A device that cannot be reached is lost. The line uses the zone's address, or the
 * device's if the zone has none.
 */
export function createTcpDriver(): Driver {
  return {
    name: 'tcp',
    reads: (device) => ({ transport: ['host', 'port'], config: MESSAGE_KEYS, polls: hasPolls(device) }),
    flaw: (device) => flawIn(() => [tcpPlaceOf(device), hasMessages(device) && readMessages(device)]),
    async open(device, zones, context) {
      if (hasMessages(device)) return openMessages({ device, zones, context, kind: 'tcp' })
      const sender = context.sender(tcpPlaceOf(device))
      return {
        async execute(command, signal) {
          await sendOrLose(sender, commandLine(device, command), context, signal)
          return {}
        },
        async close() {}, // its connection ends with its context
      }
    },
  }
}

/** The same over datagrams, for devices whose commands stand in their config. */
export function createUdpDriver(): Driver {
  return {
    name: 'udp',
    reads: (device) => ({ transport: ['host', 'port'], config: MESSAGE_KEYS, polls: hasPolls(device) }),
    flaw: (device) => flawIn(() => [tcpPlaceOf(device), readMessages(device)]),
    open: (device, zones, context) => openMessages({ device, zones, context, kind: 'udp' }),
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
