/** Modbus RTU as a line has it, with the codec that a gateway has. */
import { createModbusRtu } from '../../../core/modbus/protocol.ts'
import { createModbusSerialCodec } from '../../../io/modbus-serial-codec.ts'

export const modbusCodec = createModbusSerialCodec()
export const modbusRtu = createModbusRtu(modbusCodec)
