/** Which exception a request deserves before any unit is asked. */
import { Fault } from '#kit/fault.ts'
import { MAX_WRITTEN_BY_23, MEI_IDENTIFY, modbusFunctions } from './modbus-functions.ts'
import { type ModbusRequest, openRequest } from './modbus-request.ts'

const ILLEGAL_FUNCTION = 1
const ILLEGAL_ADDRESS = 2
const ILLEGAL_VALUE = 3
const GATEWAY_PATH = 10

/** Highest number a unit may have. @source Modbus over Serial Line V1.02, 2.2 */
const LAST_UNIT = 247

/**
 * Judges a request as the state diagrams of the standard do: function, then quantity, then address. What they leave to
 * the unit (whether it has the address) stays with the unit.
 * @param frame unit, function, data, CRC
 * @returns an exception code: 1, 2, 3, or 10 for a unit that no line can have; null where the request may be sent
 * @source Modbus Application Protocol V1.1b3, 6 and 7
 */
export function refusalOf(frame: Uint8Array): number | null {
  const [unitId = 0, fc = 0, mei] = frame
  const known = modbusFunctions.get(fc)
  if (unitId > LAST_UNIT) return GATEWAY_PATH
  if (!known || (known.shape === 'identify' && mei !== MEI_IDENTIFY && frame.length > 4)) return ILLEGAL_FUNCTION
  // A broadcast is answered by nobody, so what would be read is lost.
  if (unitId === 0 && (!known.isWrite || fc === 23)) return GATEWAY_PATH
  const request = openedOrNull(frame)
  if (!request || !isQuantityRight(request, known.maxQuantity)) return ILLEGAL_VALUE
  return isWithinAddresses(request) ? null : ILLEGAL_ADDRESS
}

function openedOrNull(frame: Uint8Array): ModbusRequest | null {
  try {
    return openRequest(frame)
  } catch (error) {
    if (error instanceof Fault) return null
    throw error
  }
}

function isQuantityRight({ fc, quantity, values = [] }: ModbusRequest, most: number): boolean {
  if (quantity < 1 || quantity > most) return false
  return fc !== 23 || (values.length >= 1 && values.length <= MAX_WRITTEN_BY_23)
}

function isWithinAddresses({ fc, address, quantity, values = [], writeAddress = 0 }: ModbusRequest): boolean {
  if (fc === 43) return true
  return address + quantity <= 65_536 && (fc !== 23 || writeAddress + values.length <= 65_536)
}
