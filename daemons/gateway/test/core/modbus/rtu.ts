/** The Modbus RTU protocol with the codec that the gateway uses. */
import { createModbusRtu } from '../../../core/modbus/protocol.ts'
import { createModbusSerialCodec } from '../../../io/modbus-serial-codec.ts'

export const modbusCodec = createModbusSerialCodec()
export const modbusRtu = createModbusRtu(modbusCodec)
