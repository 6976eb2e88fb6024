/** The adapter of a line on which we are the master: checks requests, sends them and returns the replies. */

import { Fault, faultOf } from '#kit/pure/fault.ts'
import {
  gapMsOf,
  type IdentificationObject,
  MAX_WRITTEN_BY_23,
  type ModbusFunction,
  type ModbusRequest,
  modbusFunctions,
} from '../../wire/modbus-request.ts'
import { Bus } from '../bus/bus.ts'
import { type BusFaults, busCounts, createBusFaults, refuseFields } from '../bus/faults.ts'
import type { Sent } from '../bus/protocol.ts'
import type { ScanBody } from '../bus/scan-run.ts'
import type { AskHow, BusHooks } from '../bus/transactions.ts'
import { createUnitScan, type ScanJob } from '../bus/unit-scan.ts'
import type { Adapter, AdapterContext } from '../lines/adapter.ts'
import type { PointTemplate } from '../points/definition.ts'
import { identifyUnit, type UnitIdentity } from './identify.ts'
import { BITS_OF_REGISTER } from './points.ts'
import type { ModbusAsker, ModbusReply, ModbusRtu } from './protocol.ts'
import { readingsOf, type TestedRegister } from './readings.ts'
import { defaultLimits, type ModbusLimits, type ModbusSettings } from './settings.ts'

// Validates a Modbus request before it goes anywhere near the line.

/** A request as the API receives it; the schema has checked the type and range of each field. */
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
 * Fills in omitted fields and checks that the fields agree with each other.
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
  refuseFields(fields)
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

/** The quantity if none is given: functions 15 and 16 write as many as there are values; otherwise 1. */
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
  // No unit answers a broadcast, so it cannot read anything.
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

/** Checks the fields that only one function has. */
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

/** The most replies for one identification; 256 objects of 245 bytes fit into that many. */
const MOST_IDENTIFICATION_REPLIES = 256

/** The answer to a request. `values`: 0 or 1 per bit, 0..65535 per register, objects for 43/14. */
export interface ModbusAnswer {
  unitId: number
  fc: number
  address: number
  quantity: number
  values: readonly number[] | readonly IdentificationObject[]
}

declare module '../lines/adapter.ts' {
  interface AdapterActions {
    /** Aborting `gone` withdraws the request if it has not been sent yet. */
    request?(body: RequestBody, gone?: AbortSignal): Promise<ModbusAnswer>
    /** The same for functions 1 to 4, within `modbus.test_registers`. */
    'test-read'?(body: TestReadBody, gone?: AbortSignal): Promise<TestRead>
    /** Asks a unit what it is, and compares it with the devices of the templates. */
    identify?(body: { unitId: number }, gone?: AbortSignal): Promise<{ unitId: number } & UnitIdentity>
  }
}

/** What a test read asks for. */
type TestReadBody = Required<Pick<RequestBody, 'unitId' | 'fc' | 'address' | 'quantity'>>

/** What was read, and every meaning of it. */
export interface TestRead extends TestReadBody {
  registers: TestedRegister[]
}

/** A scan reads one coil or register at `address` with function 1 to 4 from each of the units `from` to `to`. */
interface ModbusScan {
  from: number
  to: number
  fc: number
  address: number
  /** Whether the units that were found are asked what they are. */
  identify: boolean
}

/** Details of a unit that was found: the exception it answered with, if any. */
interface FoundBy {
  exception: { code: number; name: string } | null
  /** What it is; null: it was not asked, or not yet. */
  identity: UnitIdentity | null
}

export type ModbusScanJob = ScanJob<ModbusScan, FoundBy>

/** @throws Fault `bad_fields` with every fault in `details.fields` */
function scanPlanOf(body: ScanBody): ModbusScan {
  const { address = 0, by, fc = 3, from = 1, identify = false, mask, to = 247 } = body
  const fields: { field: string; message: string }[] = []
  for (const [field, unitId] of Object.entries({ from, to }))
    if (unitId < 1 || unitId > 247)
      fields.push({ field, message: `is ${unitId}, expected a whole number from 1 to 247` })
  for (const [field, value] of Object.entries({ by, mask }))
    if (value !== undefined) fields.push({ field, message: 'is of a scan for M-Bus meters; units are asked by number' })
  refuseFields(fields)
  return { from, to, fc, address, identify }
}

export type MasterHooks = BusHooks<ModbusRequest, ModbusReply> & {
  /** The bounds of what finds out about units; left out: their defaults. */
  limits?: ModbusLimits
  /** The devices that units are compared with; left out: none. */
  templates?(): Promise<readonly PointTemplate[]>
}

/** The adapter, with the interface through which other parts of the gateway send requests on its line. */
export interface ModbusMaster extends Adapter {
  readonly asker: ModbusAsker
}

/** @param settings with every default filled in */
export function createModbusMaster(
  context: AdapterContext,
  settings: ModbusSettings,
  protocol: ModbusRtu,
  hooks: MasterHooks = {},
): ModbusMaster {
  const counts = busCounts()
  const faults = createBusFaults(protocol)
  const { port, clock, publish, whyNotOpen } = context
  const { limits = defaultLimits, templates = async () => [] } = hooks
  const { baud } = context.lineSettings
  const gapMs = gapMsOf({ baud }, settings.gap_us)
  const bus = new Bus({ port, baud, gapMs, clock, publish, whyNotOpen, settings, counts, hooks, protocol })

  const scan = createUnitScan<ModbusScan, FoundBy, ModbusRequest, ModbusReply>({
    port,
    clock,
    settings,
    asker: bus,
    protocol: {
      plan: scanPlanOf,
      ask: ({ fc, address }, unitId) => protocol.seal({ unitId, fc, address, quantity: 1 }),
      found: ({ exception }) => ({ exception, identity: null }),
      async learn(plan, unitId, ask) {
        if (!plan.identify) return {}
        const asked = (request: ModbusRequest) => ask(protocol.seal(request))
        return { identity: await identifyUnit({ unitId, ask: asked, templates: await templates(), limits }) }
      },
    },
    isOpen: () => bus.isOpen,
    whyNotOpen,
    onProof: (listener) => bus.onProof(listener),
  })

  return {
    asker: bus,
    faces: { units: bus.units, scan },
    actions: createActions({ bus, faults, protocol, limits, templates, whyNotOpen }),
    whyNoAction: (action) =>
      `${port} speaks modbus-rtu, which has rest/request, rest/test-read and rest/identify and no rest/${action}.`,
    attach: (line) => bus.attach(line),
    detach(fault) {
      scan.lineClosed(fault)
      bus.detach(fault)
    },
    counters: () => ({ ...counts, ...bus.gauges }),
  }
}

interface ActionParts extends Required<Pick<MasterHooks, 'limits' | 'templates'>> {
  bus: ModbusAsker
  faults: Pick<BusFaults<ModbusRequest>, 'withdrawn'>
  protocol: ModbusRtu
  whyNotOpen(): Fault
}

/** What callers of the API ask for. */
function createActions({ bus, faults, limits, protocol, templates, whyNotOpen }: ActionParts) {
  /** Runs what asks for a client. If the client leaves, requests that were not sent yet are withdrawn. */
  async function askingFor<Made>(
    gone: AbortSignal | undefined,
    work: (exchange: (sent: Sent<ModbusRequest>) => Promise<ModbusReply | null>) => Promise<Made>,
  ): Promise<Made> {
    const how: AskHow = { priority: 'operator', ...(gone && { owner: gone }) }
    const leave = () => gone && bus.withdraw(gone)
    gone?.addEventListener('abort', leave)
    try {
      return await work(async (sent) => {
        if (gone?.aborted) throw faults.withdrawn(sent.request)
        return await bus.exchange(sent, how)
      })
    } finally {
      gone?.removeEventListener('abort', leave)
    }
  }

  /** Sends a request for a client. */
  function request(body: RequestBody, gone?: AbortSignal): Promise<ModbusAnswer> {
    return askingFor(gone, async (exchange) => {
      const asked = requestOfBody(body)
      const { unitId, fc, address, quantity } = asked
      const ask = async (one: ModbusRequest) => {
        const reply = await exchange(protocol.seal(one))
        if (reply?.refusal) throw reply.refusal
        return reply
      }
      const values = fc === 43 ? await identify(asked, ask) : valuesOf(asked, await ask(asked))
      return { unitId, fc, address, quantity, values }
    })
  }

  function identifyOne({ unitId }: { unitId: number }, gone?: AbortSignal) {
    return askingFor(gone, async (exchange) => {
      const ask = async (one: ModbusRequest) =>
        (await exchange(protocol.seal(one)).catch((error) =>
          faultOf(error, 'modbus_codec', 'It could not be asked.'),
        )) ?? whyNotOpen()
      return { unitId, ...(await identifyUnit({ unitId, ask, templates: await templates(), limits })) }
    })
  }

  async function testRead(body: TestReadBody, gone?: AbortSignal): Promise<TestRead> {
    const most = limits.test_registers * (body.fc <= 2 ? BITS_OF_REGISTER : 1)
    if (body.quantity > most)
      refuseFields([{ field: 'quantity', message: `is ${body.quantity}; a test read takes at most ${most} of them` }])
    const { values, ...asked } = await request(body, gone)
    return { ...asked, registers: readingsOf({ ...asked, values: values as readonly number[] }) }
  }

  return { request, 'test-read': testRead, identify: identifyOne }
}

/** The values that were read; for a write or a broadcast, the values that were written. */
function valuesOf({ values = [] }: ModbusRequest, reply: ModbusReply | null): ModbusAnswer['values'] {
  return reply?.values ?? values
}

/**
 * Sends requests as long as more objects follow. Each must start at a higher object id, so a device cannot
 * keep us in a loop.
 * @source Modbus Application Protocol V1.1b3, 6.21
 */
async function identify(
  request: ModbusRequest,
  ask: (asked: ModbusRequest) => Promise<ModbusReply | null>,
): Promise<IdentificationObject[]> {
  const objects: IdentificationObject[] = []
  for (let asked = request, left = MOST_IDENTIFICATION_REPLIES; left > 0; left--) {
    const reply = await ask(asked)
    if (!reply) break
    const { nextObjectId = null, values = [] } = reply
    objects.push(...(values as readonly IdentificationObject[]))
    if (nextObjectId === null) break
    if (nextObjectId <= asked.address)
      throw new Fault(
        'modbus_bad_reply',
        `Unit ${request.unitId} says more follows from object ${nextObjectId}, but was asked from ${asked.address} on.`,
        { details: { unitId: request.unitId, fc: request.fc } },
      )
    asked = { ...asked, address: nextObjectId }
  }
  return objects
}
