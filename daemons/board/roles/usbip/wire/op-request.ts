/** What a client asks in the first phase: which devices there are, or one of them. */
import { Fault } from '#kit/fault.ts'
import { BUS_ID_BYTES, isBusId } from './bus-id.ts'
import { textBytes, textOf } from './fixed-text.ts'
import { hex4 } from './hex4.ts'
import { headerBytes, OP_CODE, OP_HEADER_BYTES, openHeader } from './op-header.ts'

/** A request, as it is understood. */
export type OpRequest = { kind: 'devlist' } | { kind: 'import'; busId: string }

/** Bytes of the longest request, which is an import. */
export const LONGEST_REQUEST_BYTES = OP_HEADER_BYTES + BUS_ID_BYTES

/**
 * How long a request is, told by its first 8 bytes: nothing beyond it may be read, for what follows an import belongs
 * to the kernel.
 * @returns 8 or 40
 * @throws Fault `usbip_short`, `usbip_version`, `usbip_code`
 */
export function requestBytesOf(header: Uint8Array): number {
  const { code } = openHeader(header)
  if (code === OP_CODE.requestDevlist) return OP_HEADER_BYTES
  if (code === OP_CODE.requestImport) return LONGEST_REQUEST_BYTES
  throw new Fault(
    'usbip_code',
    `The peer asks for 0x${hex4(code)}; served are 0x8005 (list of devices) and 0x8003 (import).`,
  )
}

/**
 * @param bytes a whole request
 * @throws Fault `usbip_short`, `usbip_version`, `usbip_code`, `usbip_bus_id`
 * @source Linux, Documentation/usb/usbip_protocol.rst, OP_REQ_DEVLIST and OP_REQ_IMPORT
 */
export function openRequest(bytes: Uint8Array): OpRequest {
  const length = requestBytesOf(bytes)
  if (bytes.length < length) throw new Fault('usbip_short', `An import has ${length} bytes; ${bytes.length} came.`)
  if (length === OP_HEADER_BYTES) return { kind: 'devlist' }
  const busId = textOf(bytes.subarray(OP_HEADER_BYTES, length))
  if (busId === undefined || !isBusId(busId))
    throw new Fault('usbip_bus_id', 'The device asked for is named by no bus id, such as 1-1.4.')
  return { kind: 'import', busId }
}

/** What a client sends; the server's tests play it. @returns 8 or 40 bytes */
export function requestBytes(request: OpRequest): Uint8Array {
  if (request.kind === 'devlist') return headerBytes(OP_CODE.requestDevlist)
  const bytes = new Uint8Array(LONGEST_REQUEST_BYTES)
  bytes.set(headerBytes(OP_CODE.requestImport))
  bytes.set(textBytes(request.busId, BUS_ID_BYTES), OP_HEADER_BYTES)
  return bytes
}
