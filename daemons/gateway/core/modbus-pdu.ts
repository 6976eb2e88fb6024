/** What the Modbus master needs of a codec: requests built, values read from proven replies. */
import type { ModbusRequest } from '../wire/modbus-request.ts'

/**
 * Sends one frame and gives the reply to it, proven; null for a broadcast, which nobody answers.
 * @throws Fault of the bus: no reply, an exception, line closed
 */
export type Exchange = (frame: Uint8Array) => Promise<Uint8Array | null>

/** Speaks functions 1 to 6, 15, 16, 22 and 23. */
export interface ModbusPdu {
  /**
   * Builds the request (limits are checked already), hands it to `exchange`, reads the reply.
   * @returns values read (0 or 1 per bit, 0..65535 per register; exactly `quantity` of them), or those written; none for 22
   * @throws Fault `modbus_codec` where a proven reply is not understood, and what `exchange` throws
   */
  ask(request: ModbusRequest, exchange: Exchange): Promise<readonly number[]>
}
