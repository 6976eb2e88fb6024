/** What the data of a BACnet frame say: where from and to, which service, and which request it belongs to. */
import { FRAME_TYPES, type MstpFrame } from './frame.ts'

/** The head of a BACnet message; what it does not have is undefined. */
export interface Npdu {
  /** A message of routers about networks, by its name or number. */
  network?: string
  /** `confirmed-request`, `complex-ack` and so on. */
  pdu?: string
  service?: string
  /** Which request of its sender, or which request it answers. */
  invokeId?: number
  /** The network and address behind a router that it goes to, or comes from: `5:0A`. */
  to?: string
  from?: string
}

/** @source ANSI/ASHRAE 135-2016, 6.2.2 */
const CONTROL = { network: 0x80, destination: 0x20, source: 0x08 } as const

/** By the high four bits of the first octet. @source ANSI/ASHRAE 135-2016, 20.1.1 */
const PDUS = [
  'confirmed-request',
  'unconfirmed-request',
  'simple-ack',
  'complex-ack',
  'segment-ack',
  'error',
  'reject',
  'abort',
]

/** @source ANSI/ASHRAE 135-2016, 6.4 */
const NETWORK_MESSAGES: Readonly<Record<number, string>> = {
  0: 'who-is-router-to-network',
  1: 'i-am-router-to-network',
  2: 'i-could-be-router-to-network',
  3: 'reject-message-to-network',
  4: 'router-busy-to-network',
  5: 'router-available-to-network',
  6: 'initialize-routing-table',
  7: 'initialize-routing-table-ack',
  8: 'establish-connection-to-network',
  9: 'disconnect-connection-to-network',
  18: 'what-is-network-number',
  19: 'network-number-is',
}

/** @source ANSI/ASHRAE 135-2016, 21, BACnetConfirmedServiceChoice */
const CONFIRMED: Readonly<Record<number, string>> = {
  0: 'acknowledge-alarm',
  1: 'confirmed-cov-notification',
  2: 'confirmed-event-notification',
  3: 'get-alarm-summary',
  5: 'subscribe-cov',
  6: 'atomic-read-file',
  7: 'atomic-write-file',
  8: 'add-list-element',
  9: 'remove-list-element',
  10: 'create-object',
  11: 'delete-object',
  12: 'read-property',
  14: 'read-property-multiple',
  15: 'write-property',
  16: 'write-property-multiple',
  17: 'device-communication-control',
  18: 'confirmed-private-transfer',
  19: 'confirmed-text-message',
  20: 'reinitialize-device',
  26: 'read-range',
  28: 'subscribe-cov-property',
  29: 'get-event-information',
}

/** @source ANSI/ASHRAE 135-2016, 21, BACnetUnconfirmedServiceChoice */
const UNCONFIRMED: Readonly<Record<number, string>> = {
  0: 'i-am',
  1: 'i-have',
  2: 'unconfirmed-cov-notification',
  3: 'unconfirmed-event-notification',
  4: 'unconfirmed-private-transfer',
  5: 'unconfirmed-text-message',
  6: 'time-synchronization',
  7: 'who-has',
  8: 'who-is',
  9: 'utc-time-synchronization',
  10: 'write-group',
}

const BACNET_TYPES: readonly number[] = [
  FRAME_TYPES.BACNET_DATA_EXPECTING_REPLY,
  FRAME_TYPES.BACNET_DATA_NOT_EXPECTING_REPLY,
  FRAME_TYPES.BACNET_EXTENDED_DATA_EXPECTING_REPLY,
  FRAME_TYPES.BACNET_EXTENDED_DATA_NOT_EXPECTING_REPLY,
]

/**
 * The head of the message that a frame carries.
 * @returns undefined if the frame carries none, or what it carries is cut off or no BACnet
 * @source ANSI/ASHRAE 135-2016, 6.2 and 20.1
 */
export function npduOf({ data, frameType }: Pick<MstpFrame, 'data' | 'frameType'>): Npdu | undefined {
  if (!BACNET_TYPES.includes(frameType) || data[0] !== 1) return undefined
  const { control, from, isCut, next, to } = addressesOf(data)
  if (isCut || next >= data.length) return undefined
  const addresses = { ...(to !== undefined && { to }), ...(from !== undefined && { from }) }
  const message = data[next] ?? 0
  if (control & CONTROL.network) return { network: NETWORK_MESSAGES[message] ?? String(message), ...addresses }
  return { ...apduOf(data.subarray(next)), ...addresses }
}

function addressesOf(data: Uint8Array) {
  const control = data[1] ?? 0
  let next = 2
  const read = (): string => {
    const network = ((data[next] ?? 0) << 8) | (data[next + 1] ?? 0)
    const length = data[next + 2] ?? 0
    const address = data.subarray(next + 3, next + 3 + length)
    next += 3 + length
    return `${network}:${[...address].map((octet) => octet.toString(16).toUpperCase().padStart(2, '0')).join('')}`
  }
  const to = control & CONTROL.destination ? read() : undefined
  const from = control & CONTROL.source ? read() : undefined
  // The hop count follows the addresses.
  if (to !== undefined) next++
  return { control, to, from, next, isCut: next > data.length }
}

function apduOf(apdu: Uint8Array): Npdu {
  const first = apdu[0] ?? 0
  const pdu = PDUS[first >> 4]
  if (pdu === undefined) return {}
  const name = (choices: Readonly<Record<number, string>>, octet: number | undefined) =>
    octet === undefined ? {} : { service: choices[octet] ?? String(octet) }
  if (pdu === 'unconfirmed-request') return { pdu, ...name(UNCONFIRMED, apdu[1]) }
  // A request has its limits before the invoke id; the others have it at once.
  const idAt = pdu === 'confirmed-request' ? 2 : 1
  const invokeId = apdu[idAt]
  if (invokeId === undefined) return { pdu }
  // Of a message in segments, number and window of the segment stand before the service.
  const isSegmented = (pdu === 'confirmed-request' || pdu === 'complex-ack') && (first & 0x08) !== 0
  const hasService = pdu !== 'segment-ack' && pdu !== 'reject' && pdu !== 'abort'
  return { pdu, invokeId, ...(hasService && name(CONFIRMED, apdu[idAt + (isSegmented ? 3 : 1)])) }
}

/** Whether the message answers a request: an acknowledgement, an error, a rejection. @source ANSI/ASHRAE 135-2016, 20.1 */
export function isAnswer({ pdu }: Npdu): boolean {
  return pdu !== undefined && pdu !== 'confirmed-request' && pdu !== 'unconfirmed-request'
}
