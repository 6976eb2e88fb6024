/** Whether a Modbus request makes sense, before it goes anywhere near the line. */
import { Fault } from '#kit/fault.ts'
import { MAX_WRITTEN_BY_23, type ModbusFunction, modbusFunctions } from '../wire/modbus-functions.ts'
import type { ModbusRequest } from '../wire/modbus-request.ts'

/** A request as the API takes it; types and ranges of single fields are checked by its schema. */
export interface RequestBody {
  unitId: number
  fc: number
  address: number
  quantity?: number
  values?: readonly (number | boolean)[]
  and_mask?: number
  or_mask?: number
  write_address?: number
}

type Refuse = (field: string, message: string) => void

/**
 * Fills what a body leaves out and checks what its fields mean together.
 * @returns the request; `values` as 0 or 1 per coil, 0..65535 per register
 * @throws Fault `bad_fields` with every fault in `details.fields`
 * @source Modbus Application Protocol V1.1b3, 4.4 and 6; Modbus over Serial Line V1.02, 2.2
 */
export function requestOfBody(body: RequestBody): ModbusRequest {
  const fields: { field: string; message: string }[] = []
  const refuse: Refuse = (field, message) => void fields.push({ field, message })
  const known = modbusFunctions.get(body.fc)
  if (known) checkAll(body, known, refuse)
  else refuse('fc', `is ${body.fc}; known are ${[...modbusFunctions.keys()].join(', ')}`)
  if (fields.length > 0) {
    const sentence = fields.map(({ field, message }) => `${field} ${message}`).join('; ')
    throw new Fault('bad_fields', sentence, { details: { fields } })
  }
  return {
    unitId: body.unitId,
    fc: body.fc,
    address: body.address,
    quantity: body.quantity ?? impliedQuantity(body),
    ...(body.values && { values: body.values.map(Number) }),
    ...(body.and_mask !== undefined && { andMask: body.and_mask, orMask: body.or_mask }),
    ...(body.write_address !== undefined && { writeAddress: body.write_address }),
  }
}

/** Writes say by their values how much they write. */
function impliedQuantity({ fc, values }: RequestBody): number {
  return fc === 15 || fc === 16 ? (values?.length ?? 1) : 1
}

function checkAll(body: RequestBody, known: ModbusFunction, refuse: Refuse): void {
  checkUnit(body, known, refuse)
  checkQuantity(body, known, refuse)
  checkValues(body, known, refuse)
  checkOnlyOf(body, refuse)
}

function checkUnit({ unitId, fc }: RequestBody, known: ModbusFunction, refuse: Refuse): void {
  if (unitId > 247) refuse('unitId', `is ${unitId}; 248 to 255 are reserved, units are 1 to 247`)
  // Nobody answers a broadcast: what would be read is lost.
  if (unitId === 0 && (!known.isWrite || fc === 23))
    refuse('unitId', `is 0, a broadcast; function ${fc} needs an answer`)
}

function checkQuantity(body: RequestBody, { shape, maxQuantity }: ModbusFunction, refuse: Refuse): void {
  const { fc, address, quantity } = body
  if (shape === 'identify') {
    if (quantity === undefined) refuse('quantity', 'is missing; function 43 takes the read device id code here, 1 to 4')
    else if (quantity > maxQuantity)
      refuse('quantity', `is ${quantity}; function 43 takes the read device id code here, 1 to 4`)
    if (address > 255) refuse('address', `is ${address}; function 43 takes an object here, 0 to 255`)
    return
  }
  const asked = quantity ?? impliedQuantity(body)
  if (quantity === undefined && (shape === 'readBits' || shape === 'readWords' || shape === 'readWriteWords'))
    refuse('quantity', `is missing; function ${fc} reads 1 to ${maxQuantity}`)
  else if (asked > maxQuantity) refuse('quantity', `is ${asked}; function ${fc} takes at most ${maxQuantity}`)
  if (address + asked > 65_536) refuse('address', `is ${address}; with ${asked} from there the last is beyond 65535`)
}

function checkValues(body: RequestBody, { shape }: ModbusFunction, refuse: Refuse): void {
  const { fc, values, quantity } = body
  const isWritten = ['writeBit', 'writeWord', 'writeBits', 'writeWords', 'readWriteWords'].includes(shape)
  if (!isWritten) {
    if (values) refuse('values', `is given, but function ${fc} writes none`)
    return
  }
  if (!values || values.length === 0) {
    refuse('values', `is missing; function ${fc} writes what stands there`)
    return
  }
  if (shape !== 'readWriteWords') {
    const wanted = quantity ?? impliedQuantity(body)
    if (values.length !== wanted) refuse('values', `has ${values.length} entries, quantity is ${wanted}`)
  } else if (values.length > MAX_WRITTEN_BY_23) {
    refuse('values', `has ${values.length} entries; function 23 writes at most ${MAX_WRITTEN_BY_23}`)
  }
  const isBits = shape === 'writeBit' || shape === 'writeBits'
  const wrongAt = values.findIndex((value) => (isBits ? Number(value) > 1 : typeof value === 'boolean'))
  if (wrongAt >= 0)
    refuse(
      `values[${wrongAt}]`,
      `is ${values[wrongAt]}; ${isBits ? 'a coil is 0, 1, true or false' : 'a register is 0 to 65535'}`,
    )
}

/** Fields that one function alone has. */
function checkOnlyOf(body: RequestBody, refuse: Refuse): void {
  const { fc, values, write_address: writeAddress } = body
  for (const name of ['and_mask', 'or_mask'] as const) {
    if (fc === 22 && body[name] === undefined) refuse(name, 'is missing; function 22 takes both masks')
    if (fc !== 22 && body[name] !== undefined) refuse(name, `is given, but belongs to function 22, not ${fc}`)
  }
  if (fc !== 23) {
    if (writeAddress !== undefined) refuse('write_address', `is given, but belongs to function 23, not ${fc}`)
    return
  }
  if (writeAddress === undefined) refuse('write_address', 'is missing; function 23 writes from there')
  else if (writeAddress + (values?.length ?? 0) > 65_536)
    refuse('write_address', `is ${writeAddress}; with ${values?.length} from there the last is beyond 65535`)
}
