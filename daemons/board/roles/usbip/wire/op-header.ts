/** The eight bytes that begin every message of the first phase: version, code, status. */
import { Fault } from '#kit/fault.ts'
import { hex4 } from './hex4.ts'

/** The port that IANA has registered for USB/IP. */
export const USBIP_PORT = 3240

/** Version of the protocol that all stock clients and servers speak. */
export const OP_VERSION = 0x0111

export const OP_HEADER_BYTES = 8

/** Codes: a request has its top bit set, the reply has not. */
export const OP_CODE = {
  requestImport: 0x8003,
  replyImport: 0x0003,
  requestDevlist: 0x8005,
  replyDevlist: 0x0005,
} as const

/**
 * How a request went. `not_available` is what a client shows as "Request failed".
 * @source Linux, tools/usb/usbip/src/usbip_network.h, ST_OK to ST_ERROR
 */
export const OP_STATUS = {
  ok: 0,
  not_available: 1,
  busy: 2,
  device_error: 3,
  no_device: 4,
  error: 5,
} as const
export type OpStatus = keyof typeof OP_STATUS

/** One header. `status` is 0 in requests. */
export interface OpHeader {
  version: number
  code: number
  status: number
}

/**
 * @returns 8 bytes, big-endian: version (2), code (2), status (4)
 * @source Linux, Documentation/usb/usbip_protocol.rst
 */
export function headerBytes(code: number, status: OpStatus = 'ok'): Uint8Array {
  const bytes = new Uint8Array(OP_HEADER_BYTES)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, OP_VERSION)
  view.setUint16(2, code)
  view.setUint32(4, OP_STATUS[status])
  return bytes
}

/**
 * @param bytes at least 8, of which the first 8 are read
 * @throws Fault `usbip_short`, and `usbip_version` where the peer speaks another version or none
 */
export function openHeader(bytes: Uint8Array): OpHeader {
  if (bytes.length < OP_HEADER_BYTES)
    throw new Fault('usbip_short', `A message begins with ${OP_HEADER_BYTES} bytes; ${bytes.length} came.`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const header = { version: view.getUint16(0), code: view.getUint16(2), status: view.getUint32(4) }
  if (header.version !== OP_VERSION)
    throw new Fault(
      'usbip_version',
      `The peer says version 0x${hex4(header.version)}; USB/IP is spoken here as 0x${hex4(OP_VERSION)}.`,
    )
  return header
}

/** @returns the name of a status code, `error` for one that nobody has defined */
export function statusOf(code: number): OpStatus {
  const found = Object.entries(OP_STATUS).find(([, number]) => number === code)
  return (found?.[0] as OpStatus | undefined) ?? 'error'
}
