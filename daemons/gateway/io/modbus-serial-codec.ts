/** Builds requests and reads values with the package modbus-serial, which gets a stand-in for its serial port. */
import { EventEmitter } from 'node:events'
import modbusSerial from 'modbus-serial'
import { Fault } from '#kit/pure/fault.ts'
import type { ModbusCodec } from '../core/modbus/protocol.ts'
import type { ModbusRequest } from '../wire/modbus-request.ts'

/** The package is CommonJS: types and run time alike have its class under `default`. */
const ModbusRTU = modbusSerial.default

type Client = InstanceType<typeof ModbusRTU>
type Done = (error: Error | null, values?: readonly number[]) => void

/**
 * modbus-serial hands frames to its port, and the port's `data` to its latest caller, before either call returns. So
 * every request is begun and ended within one call here: there are no timeouts, no late replies, and no two callers to
 * mix up.
 * @see docs/decisions/modbus-frames.md
 */
export function createModbusSerialCodec(): ModbusCodec {
  const port = new HeldPort()
  const client = new ModbusRTU(port)
  client.open()
  return {
    frameOf(request) {
      call(client, request, () => {})
      const frame = port.take()
      if (frame) return frame
      throw new Fault('modbus_codec', `modbus-serial builds no frame for function ${request.fc}`)
    },
    valuesOf(request, reply) {
      let found: readonly number[] | undefined
      let why = 'it says nothing'
      // It needs a request to read a reply by. Only what the request reads matters, but function 23 must write
      // something.
      call(client, { ...request, values: [0] }, (error, values) => {
        found = values
        if (error) why = error.message
      })
      port.emit('data', Buffer.from(reply.buffer, reply.byteOffset, reply.length))
      if (found?.length === request.quantity) return found
      throw new Fault('modbus_codec', `modbus-serial does not understand a proven reply: ${why}`)
    },
  }
}

/** What modbus-serial takes for a serial port: keeps the frame that is written. */
class HeldPort extends EventEmitter {
  readonly isOpen = true
  #written: Uint8Array | undefined

  open(done: (error?: Error) => void): void {
    done()
  }

  write(frame: Uint8Array): void {
    this.#written = Uint8Array.from(frame)
  }

  /** Returns the frame written since the last call, if any. */
  take(): Uint8Array | undefined {
    const frame = this.#written
    this.#written = undefined
    return frame
  }
}

/** Makes modbus-serial write one request to its port. */
function call(client: Client, request: ModbusRequest, done: Done): void {
  const begin = calls[request.fc]
  if (!begin) throw new Fault('modbus_codec', `function ${request.fc} is not spoken through modbus-serial`)
  begin(client, request, done)
}

const calls: Readonly<Record<number, (client: Client, request: ModbusRequest, done: Done) => void>> = {
  1: (client, asked, done) => client.writeFC1(asked.unitId, asked.address, asked.quantity, bits(asked, done)),
  2: (client, asked, done) => client.writeFC2(asked.unitId, asked.address, asked.quantity, bits(asked, done)),
  3: (client, asked, done) => client.writeFC3(asked.unitId, asked.address, asked.quantity, words(done)),
  4: (client, asked, done) => client.writeFC4(asked.unitId, asked.address, asked.quantity, words(done)),
  5: (client, { unitId, address, values = [] }) => client.writeFC5(unitId, address, values[0] === 1, unread),
  6: (client, { unitId, address, values = [] }) => client.writeFC6(unitId, address, values[0] ?? 0, unread),
  15: (client, { unitId, address, values = [] }) => client.writeFC15(unitId, address, values.map(Boolean), unread),
  16: (client, { unitId, address, values = [] }) => client.writeFC16(unitId, address, [...values], unread),
  22: (client, { unitId, address, andMask = 0, orMask = 0 }) =>
    client.writeFC22(unitId, address, andMask, orMask, unread),
  23: (client, { unitId, address, quantity, writeAddress = 0, values = [] }, done) =>
    client.writeFC23(unitId, address, quantity, writeAddress, values.length, [...values], words(done)),
}

/** The bits of the last byte beyond the quantity are padding, but modbus-serial returns them as values. */
function bits({ quantity }: ModbusRequest, done: Done) {
  return (error: Error | null, reply?: { data: boolean[] }) => done(error, reply?.data.slice(0, quantity).map(Number))
}

function words(done: Done) {
  return (error: Error | null, reply?: { data: number[] }) => done(error, reply?.data)
}

/** The reply to a write repeats the request, so a proven reply has nothing to read. */
function unread(): void {}
