/** The protocol modbus-rtu as master: a request of the API becomes a transaction, its proven reply an answer. */
import { Fault } from '#kit/fault.ts'
import { type IdentificationObject, identifyRequestFrame, openIdentification } from '../wire/modbus-identification.ts'
import { exceptionCode } from '../wire/modbus-reply.ts'
import { type ModbusRequest, openRequest } from '../wire/modbus-request.ts'
import type { Adapter, AdapterContext } from './adapter.ts'
import type { AskHow, MasterHooks, ModbusAsker, ModbusWithdrawals } from './modbus-ask.ts'
import { ModbusBus } from './modbus-bus.ts'
import { modbusCounts } from './modbus-counts.ts'
import { exceptionFault, withdrawnFault } from './modbus-faults.ts'
import type { Exchange, ModbusPdu } from './modbus-pdu.ts'
import { type RequestBody, requestOfBody } from './modbus-request-check.ts'
import type { ModbusSettings } from './modbus-settings.ts'
import { UnitScan } from './unit-scan.ts'

/** Replies one identification may be spread over; 256 objects of 245 bytes fit in as many. */
const MOST_IDENTIFICATION_REPLIES = 256

/** What a request is answered with. `values`: 0 or 1 per bit, 0..65535 per register, objects for 43/14. */
export interface ModbusAnswer {
  unitId: number
  fc: number
  address: number
  quantity: number
  values: readonly number[] | readonly IdentificationObject[]
}

/** The adapter, and what the other parts of the gateway ask its line by. */
export interface ModbusMaster extends Adapter {
  readonly asker: ModbusAsker & ModbusWithdrawals
}

/** @param settings with every default filled in; `pdu` builds requests and reads values from proven replies */
export function createModbusMaster(
  context: AdapterContext,
  settings: ModbusSettings,
  pdu: ModbusPdu,
  hooks: MasterHooks = {},
): ModbusMaster {
  const counts = modbusCounts()
  const { port, clock, publish, whyNotOpen } = context
  const bus = new ModbusBus({
    ...{ port, clock, publish, whyNotOpen, settings, counts, hooks },
    baud: context.lineSettings.baud,
  })

  /** Nothing but what was asked goes out, whatever built the frame. */
  function exchangeFor(request: ModbusRequest, how: AskHow): Exchange {
    return async (frame) => {
      const built = openRequest(frame)
      if (!isSame(built, request))
        throw new Fault(
          'modbus_codec',
          `the frame built for function ${request.fc} asks something else than the request`,
        )
      const reply = await bus.exchange(frame, how)
      const code = reply && exceptionCode(reply)
      if (code === null) return reply
      throw exceptionFault({ frame, request }, code)
    }
  }

  const asker: ModbusMaster['asker'] = {
    exchange: (frame, how) => bus.exchange(frame, how),
    withdraw: (owner) => bus.withdraw(owner),
    ask: (request, how) => pdu.ask(request, exchangeFor(request, how)),
  }

  /** Somebody waits for the answer, or has left: then what is not out yet stays here. */
  async function ask(body: RequestBody, gone?: AbortSignal): Promise<ModbusAnswer> {
    const request = requestOfBody(body)
    const { unitId, fc, address, quantity } = request
    const how: AskHow = { priority: 'operator', ...(gone && { owner: gone }) }
    const exchangeOf = (asked: ModbusRequest) => {
      if (gone?.aborted) throw withdrawnFault({ request: asked })
      return exchangeFor(asked, how)
    }
    const leave = () => gone && bus.withdraw(gone)
    gone?.addEventListener('abort', leave)
    try {
      const values = fc === 43 ? await identify(request, exchangeOf) : await pdu.ask(request, exchangeOf(request))
      return { unitId, fc, address, quantity, values }
    } finally {
      gone?.removeEventListener('abort', leave)
    }
  }

  const scan = new UnitScan({
    port,
    clock,
    settings,
    asker,
    isOpen: () => bus.isOpen,
    whyNotOpen,
    onProof: (listener) => bus.onProof(listener),
  })

  return {
    asker,
    faces: { units: bus.units, scan },
    attach: (line) => bus.attach(line),
    detach(fault) {
      scan.lineClosed(fault)
      bus.detach(fault)
    },
    async act(action, body, gone) {
      if (action === 'request') return await ask(body as RequestBody, gone)
      throw new Fault('wrong_protocol', `${port} speaks modbus-rtu, which has rest/request and no rest/${action}.`)
    },
    counters: () => ({ ...counts, ...bus.gauges }),
  }
}

/**
 * Asks on while more follows, each time further on, so that a device cannot lead in a circle.
 * @source Modbus Application Protocol V1.1b3, 6.21
 */
async function identify(
  request: ModbusRequest,
  exchangeOf: (asked: ModbusRequest) => Exchange,
): Promise<IdentificationObject[]> {
  const objects: IdentificationObject[] = []
  for (let asked = request, left = MOST_IDENTIFICATION_REPLIES; left > 0; left--) {
    const reply = await exchangeOf(asked)(identifyRequestFrame(asked))
    if (!reply) break
    const found = openIdentification(reply)
    objects.push(...found.objects)
    if (found.nextObjectId === null) break
    if (found.nextObjectId <= asked.address)
      throw new Fault(
        'modbus_bad_reply',
        `Unit ${request.unitId} says more follows from object ${found.nextObjectId}, but was asked from ${asked.address} on.`,
        { details: { unitId: request.unitId, fc: request.fc } },
      )
    asked = { ...asked, address: found.nextObjectId }
  }
  return objects
}

function isSame(built: ModbusRequest, asked: ModbusRequest): boolean {
  const keys = ['unitId', 'fc', 'address', 'quantity', 'andMask', 'orMask', 'writeAddress'] as const
  if (keys.some((key) => built[key] !== asked[key])) return false
  const values = asked.values ?? []
  return values.length === (built.values ?? []).length && values.every((value, at) => value === built.values?.[at])
}
