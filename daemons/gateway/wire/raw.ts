/** The bytes of a request to send raw data. @source interface document 2, part A, Protocol bodies: raw */
import { bytesOfBase64, bytesOfHex } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'

/** Exactly one of the two fields. */
export interface RawTransmit {
  /** base64, RFC 4648 clause 4 */
  data?: string
  /** Pairs of hex digits separated by spaces. */
  hex?: string
}

/**
 * @param maxBytes the longest frame that may be sent
 * @returns 1..maxBytes bytes
 * @throws Fault `bad_base64`, `bad_hex` (naming the position), `bad_transmit`
 * @source interface document 2, part A, Protocol bodies: raw
 */
export function bytesOfTransmit(body: RawTransmit, maxBytes: number): Uint8Array {
  if ((body.data === undefined) === (body.hex === undefined))
    throw new Fault(
      'bad_transmit',
      body.data === undefined
        ? 'The body has neither data (base64) nor hex. Send exactly one of them.'
        : 'The body has both data and hex. Send exactly one of them.',
    )
  const bytes = body.data === undefined ? bytesOfHex(body.hex ?? '') : bytesOfBase64(body.data)
  if (bytes.length === 0) throw new Fault('bad_transmit', 'There is nothing to send: the body holds 0 bytes.')
  if (bytes.length > maxBytes)
    throw new Fault('bad_transmit', `The body holds ${bytes.length} bytes; one frame has at most ${maxBytes}.`)
  return bytes
}
