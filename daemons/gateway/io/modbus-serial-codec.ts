/** Requests built and values read by the package modbus-serial, behind a port on which nothing waits. */
import { EventEmitter } from 'node:events'
import modbusSerial from 'modbus-serial'
import { Fault } from '#kit/pure/fault.ts'
import type { ModbusCodec } from '../core/modbus/protocol.ts'
import type { ModbusRequest } from '../wire/modbus-request.ts'

/** The package is CommonJS: its class stands under `default` for types and at run time alike. */
const ModbusRTU = modbusSerial.default

type Client = InstanceType<typeof ModbusRTU>
type Done = (error: Error | null, values?: readonly number[]) => void

/**
 * modbus-serial gives its port the frame, and the port's `data` to whoever asked last, before either call returns: every
 * request is begun and ended in one call here, so it has no timeouts, no late replies, and no two callers to mix up.
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
      // It reads a reply by the request before it. Of that only what it asks for counts; of 23 it wants something written.
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

/** What modbus-serial takes for a serial port: keeps what is written. */
class HeldPort extends EventEmitter {
  readonly isOpen = true
  #written: Uint8Array | undefined

  open(done: (error?: Error) => void): void {
    done()
  }

  write(frame: Uint8Array): void {
    this.#written = Uint8Array.from(frame)
  }

  /** What was written since, if anything. */
  take(): Uint8Array | undefined {
    const frame = this.#written
    this.#written = undefined
    return frame
  }
}

/** One request, begun. */
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

/** Bits of the last byte beyond the quantity are padding: modbus-serial gives them as values. */
function bits({ quantity }: ModbusRequest, done: Done) {
  return (error: Error | null, reply?: { data: boolean[] }) => done(error, reply?.data.slice(0, quantity).map(Number))
}

function words(done: Done) {
  return (error: Error | null, reply?: { data: number[] }) => done(error, reply?.data)
}

/** The answer to a write repeats it, and is proven by that. */
function unread(): void {}
