/** Requests and values by the package modbus-serial, behind a port that is a bus with proven replies. */
import { EventEmitter } from 'node:events'
import modbusSerial from 'modbus-serial'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import type { Exchange, ModbusPdu } from '../core/modbus/master.ts'
import type { ModbusRequest } from '../wire/modbus-request.ts'

/** The package is CommonJS: its class stands under `default` for types and at run time alike. */
const ModbusRTU = modbusSerial.default

/**
 * A codec that makes a client of its own for each request: modbus-serial keeps one transaction per client, and mixes
 * up callers who share one. What reaches it has passed wire/modbus-reply.ts. Function 43 is not spoken by it: see
 * docs/decisions/modbus-frames.md.
 */
export function createModbusSerialPdu(): ModbusPdu {
  return {
    async ask(request, exchange) {
      const port = new ExchangePort(exchange)
      const client = new ModbusRTU(port)
      client.open()
      return await new Promise((resolve, reject) => {
        port.once('failed', reject)
        port.once('broadcast', () => resolve(request.values ?? []))
        call(client, request, (error, values) => {
          if (error)
            reject(faultOf(error, 'modbus_codec', `modbus-serial does not understand a proven reply: ${error.message}`))
          else resolve(values ?? [])
        })
      })
    },
  }
}

/** What modbus-serial takes for a serial port. */
class ExchangePort extends EventEmitter {
  readonly isOpen = true
  readonly #exchange: Exchange

  constructor(exchange: Exchange) {
    super()
    this.#exchange = exchange
  }

  open(done: (error?: Error) => void): void {
    done()
  }

  /** The reply comes as one `data`, a broadcast as `broadcast`, a fault as `failed`. */
  write(frame: Uint8Array): void {
    this.#exchange(Uint8Array.from(frame)).then(
      (reply) => (reply ? this.emit('data', Buffer.from(reply)) : this.emit('broadcast')),
      (error) => this.emit('failed', error),
    )
  }
}

type Done = (error: Error | null, values?: readonly number[]) => void

/** Bits of the last byte beyond the quantity are padding: modbus-serial gives them as values. */
function call(client: InstanceType<typeof ModbusRTU>, request: ModbusRequest, done: Done): void {
  const { unitId, fc, address, quantity, values = [] } = request
  const bits = (error: Error | null, reply?: { data: boolean[] }) =>
    done(error, reply?.data.slice(0, quantity).map(Number))
  const words = (error: Error | null, reply?: { data: number[] }) => done(error, reply?.data)
  const written = (error: Error | null) => done(error, values)
  const speak: Record<number, () => void> = {
    1: () => client.writeFC1(unitId, address, quantity, bits),
    2: () => client.writeFC2(unitId, address, quantity, bits),
    3: () => client.writeFC3(unitId, address, quantity, words),
    4: () => client.writeFC4(unitId, address, quantity, words),
    5: () => client.writeFC5(unitId, address, values[0] === 1, written),
    6: () => client.writeFC6(unitId, address, values[0] ?? 0, written),
    15: () => client.writeFC15(unitId, address, values.map(Boolean), written),
    16: () => client.writeFC16(unitId, address, [...values], written),
    22: () => client.writeFC22(unitId, address, request.andMask ?? 0, request.orMask ?? 0, written),
    23: () => client.writeFC23(unitId, address, quantity, request.writeAddress ?? 0, values.length, [...values], words),
  }
  const speaker = speak[fc]
  if (!speaker) throw new Fault('modbus_codec', `function ${fc} is not spoken through modbus-serial`)
  speaker()
}
