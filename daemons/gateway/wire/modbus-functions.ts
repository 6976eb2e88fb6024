/** The functions and exceptions of Modbus: names, shapes and quantities, as one table. */

/** How a function's request and reply are laid out. */
export type FunctionShape =
  | 'readBits'
  | 'readWords'
  | 'writeBit'
  | 'writeWord'
  | 'writeBits'
  | 'writeWords'
  | 'maskWord'
  | 'readWriteWords'
  | 'identify'

/** One function. `maxQuantity`: most bits or registers of one request. */
export interface ModbusFunction {
  fc: number
  name: string
  shape: FunctionShape
  maxQuantity: number
  isWrite: boolean
}

/** Most registers that function 23 writes. @source Modbus Application Protocol V1.1b3, 6.17 */
export const MAX_WRITTEN_BY_23 = 121

/** MEI type of device identification. @source Modbus Application Protocol V1.1b3, 6.21 */
export const MEI_IDENTIFY = 0x0e

const rows: ModbusFunction[] = [
  { fc: 1, name: 'Read Coils', shape: 'readBits', maxQuantity: 2000, isWrite: false },
  { fc: 2, name: 'Read Discrete Inputs', shape: 'readBits', maxQuantity: 2000, isWrite: false },
  { fc: 3, name: 'Read Holding Registers', shape: 'readWords', maxQuantity: 125, isWrite: false },
  { fc: 4, name: 'Read Input Registers', shape: 'readWords', maxQuantity: 125, isWrite: false },
  { fc: 5, name: 'Write Single Coil', shape: 'writeBit', maxQuantity: 1, isWrite: true },
  { fc: 6, name: 'Write Single Register', shape: 'writeWord', maxQuantity: 1, isWrite: true },
  { fc: 15, name: 'Write Multiple Coils', shape: 'writeBits', maxQuantity: 1968, isWrite: true },
  { fc: 16, name: 'Write Multiple Registers', shape: 'writeWords', maxQuantity: 123, isWrite: true },
  { fc: 22, name: 'Mask Write Register', shape: 'maskWord', maxQuantity: 1, isWrite: true },
  { fc: 23, name: 'Read/Write Multiple Registers', shape: 'readWriteWords', maxQuantity: 125, isWrite: true },
  { fc: 43, name: 'Read Device Identification', shape: 'identify', maxQuantity: 4, isWrite: false },
]

/**
 * The functions spoken here, by code.
 * @source Modbus Application Protocol V1.1b3, 6.1 to 6.6, 6.11, 6.12, 6.16, 6.17, 6.21
 */
export const modbusFunctions: ReadonlyMap<number, ModbusFunction> = new Map(rows.map((row) => [row.fc, row]))

const exceptionNames: Readonly<Record<number, string>> = {
  1: 'Illegal Function',
  2: 'Illegal Data Address',
  3: 'Illegal Data Value',
  4: 'Server Device Failure',
  5: 'Acknowledge',
  6: 'Server Device Busy',
  8: 'Memory Parity Error',
  10: 'Gateway Path Unavailable',
  11: 'Gateway Target Device Failed To Respond',
}

/** The standard's name of an exception code. @source Modbus Application Protocol V1.1b3, 7 */
export function exceptionName(code: number): string {
  return exceptionNames[code] ?? 'Unknown Exception'
}

/** The standard's name of a function code; of an exception's function code too. */
export function functionName(fc: number): string {
  return modbusFunctions.get(fc & 0x7f)?.name ?? `Function ${fc & 0x7f}`
}
