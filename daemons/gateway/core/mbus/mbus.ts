/** The M-Bus entry of the protocol list: settings, the adapter of a line, and what a caller asks of it. */
import { type Static, Type } from 'typebox'
import { hexOf } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { EVERYBODY, LAST_ADDRESS, SELECTED } from '../../wire/mbus/frames.ts'
import { type MeterIdentity, secondaryOf, wholeSecondary } from '../../wire/mbus/identity.ts'
import type { MbusRecord } from '../../wire/mbus/records.ts'
import { unitOfId } from '../../wire/meter-number.ts'
import { LINK_TYPES } from '../../wire/pcap.ts'
import { Bus } from '../bus/bus.ts'
import { busCounts, createBusFaults } from '../bus/faults.ts'
import { createBusPoints, withPoints } from '../bus/points.ts'
import { askingKeys, type BusSettings, echoKeys, framingKeys, pollingKeys } from '../bus/settings.ts'
import type { AskHow, BusDebts } from '../bus/transactions.ts'
import type { Adapter, AdapterContext, Protocol } from '../lines/adapter.ts'
import type { PortRecord } from '../lines/ports.ts'
import { isRecordPoint } from '../points/definition.ts'
import { mbusHunt } from './hunt.ts'
import { recordPoints } from './points.ts'
import { type MbusReply, type MbusRequest, mbus } from './protocol.ts'
import { AddressTurns, createMeterReader, type MeterReader, type MeterReading, type MeterTarget } from './reader.ts'
import { createMbusScan } from './scan.ts'

// Settings of mbus.

const { copy_answers: _, copy_trust_after: _2, copy_window_ms: _3, response_timeout_ms: _4, ...ownAsking } = askingKeys

const mbusSettings = Type.Object(
  {
    ...ownAsking,
    response_timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 10,
        maximum: 60_000,
        description:
          'how long a meter may take to begin its answer, from the end of the request, ms; left out: 500, or the 330 bits and 50 ms of the standard and 100 ms where these are more',
      }),
    ),
    retries: Type.Integer({
      default: 1,
      minimum: 0,
      maximum: 10,
      description: 'how often a meter is asked again that gave no valid answer, before a reading fails',
    }),
    max_telegrams: Type.Integer({
      default: 16,
      minimum: 1,
      maximum: 64,
      description: 'telegrams of one reading at most, of a meter that has more than one',
    }),
    scan_selections: Type.Integer({
      default: 20_000,
      minimum: 10,
      maximum: 1_000_000,
      description: 'selections of one scan by secondary address at most, so that noise does not keep it going for ever',
    }),
    gap_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1000,
        description: 'silence before each request, ms; left out: 33 bits, the rest of the standard',
      }),
    ),
    ...framingKeys,
    stale_after_ms: pollingKeys.stale_after_ms,
    ...echoKeys,
  },
  { additionalProperties: false },
)

type MbusSettings = Static<typeof mbusSettings>

/** How long a meter may take to begin its answer, bits and ms, and how long a master rests. @source EN 13757-2, 5.3 */
const ANSWER_BITS = 330
const ANSWER_MS = 50
const REST_BITS = 33
/** What converters and USB adapters add, and what meters in the field take. */
const ADAPTER_MS = 100
const LEAST_TIMEOUT_MS = 500

function timingOf(settings: MbusSettings, baud: number): { gapMs: number; response_timeout_ms: number } {
  const standardMs = Math.ceil((ANSWER_BITS * 1000) / baud) + ANSWER_MS + ADAPTER_MS
  return {
    gapMs: settings.gap_ms ?? Math.ceil((REST_BITS * 1000) / baud),
    response_timeout_ms: settings.response_timeout_ms ?? Math.max(LEAST_TIMEOUT_MS, standardMs),
  }
}

/** What an M-Bus line needs from the outside. */
export interface MbusWorld {
  /** Late replies that meters still owe to the previous adapter of the line. */
  mbusDebts(path: string): BusDebts<MbusRequest>
}

/** A meter by exactly one of its addresses. */
interface MeterBody {
  address?: number
  secondary?: string
}

/** A whole meter, as people see it. */
interface ReadingView {
  unitId: number
  address: number | null
  secondary: string | null
  meter: MeterIdentity | null
  accessNumber: number | null
  status: readonly string[]
  isEncrypted: boolean
  isComplete: boolean
  problem: string | null
  records: (Pick<
    MbusRecord,
    'quantity' | 'value' | 'unit' | 'problem' | 'function' | 'storage' | 'tariff' | 'subunit'
  > & { record: string; headerHex: string; dataHex: string })[]
  restHex: string[]
  telegramsHex: string[]
}

declare module '../lines/adapter.ts' {
  interface AdapterActions {
    /** Aborting `gone` withdraws what has not been sent yet. */
    read?(body: MeterBody, gone?: AbortSignal): Promise<ReadingView>
    init?(body: MeterBody, gone?: AbortSignal): Promise<{ unitId: number }>
  }
}

export const mbusProtocol: Protocol<MbusWorld> = {
  settings: mbusSettings,
  linkType: LINK_TYPES.mbus,
  hunt: mbusHunt,
  make: makeMbus,
}

/** The most meters that one line keeps counts of; a segment of M-Bus carries 250. */
const MOST_METERS = 247

function makeMbus(record: PortRecord, context: AdapterContext, world: MbusWorld): Adapter {
  const own = record.settings as MbusSettings
  const { clock, lineSettings, port, whyNotOpen } = context
  const { baud } = lineSettings
  const { gapMs, response_timeout_ms } = timingOf(own, baud)
  // No meter and no converter says things twice, and none is written to.
  const without = { copy_window_ms: 0, copy_answers: 16, copy_trust_after: 1, reread_ms: 0 }
  const settings: BusSettings & MbusSettings = { ...own, ...without, response_timeout_ms }
  const counts = busCounts()
  const points = createBusPoints(context, settings, recordPoints, record.points.filter(isRecordPoint))
  const hooks = Object.assign(points.hooks, { debts: world.mbusDebts(record.path) })
  const parts = { port, baud, gapMs, clock, publish: context.publish, whyNotOpen, settings, counts, hooks }
  const bus = new Bus<MbusRequest, MbusReply>({ ...parts, protocol: mbus })
  const turns = new AddressTurns({ port, clock, settings, counts })
  const reader = createMeterReader({ clock, settings, turns, asker: bus })
  const scan = createMbusScan({ port, clock, settings, turns, asker: bus, isOpen: () => bus.isOpen, whyNotOpen })
  const ask = createAsking({ bus, reader, turns })

  const adapter: Adapter = {
    faces: { units: bus.units, scan },
    actions: ask.actions,
    whyNoAction: (action) => `${port} speaks mbus, which has rest/read and rest/init and no rest/${action}.`,
    attach: (line) => bus.attach(line),
    detach(fault) {
      const why = fault ?? new Fault('line_closed', `${port} was closed.`)
      scan.lineClosed(why)
      turns.clear(why)
      bus.detach(fault)
    },
    counters: () => ({ ...counts, ...bus.gauges, waiting: bus.gauges.waiting + turns.waiting }),
  }
  return withPoints(adapter, points, { ask: ask.poll })
}

interface AskingParts {
  bus: Bus<MbusRequest, MbusReply>
  reader: MeterReader
  turns: AddressTurns
}

const faults = createBusFaults(mbus)

/** How callers and polls ask for meters. */
function createAsking({ bus, reader, turns }: AskingParts) {
  /** @throws Fault `mbus_too_many_meters` */
  function refuseOneMore(unitId: number): void {
    const units = bus.units.list()
    if (units.length < MOST_METERS || units.some((unit) => unit.unitId === unitId)) return
    throw new Fault(
      'mbus_too_many_meters',
      `${units.length} meters are known on this line, as many as one may have; forget one that is not there.`,
    )
  }

  /** If the client leaves, what was not sent yet is withdrawn. */
  async function forClient<Made>(
    target: MeterTarget,
    gone: AbortSignal | undefined,
    work: (how: AskHow) => Promise<Made>,
  ): Promise<Made> {
    refuseOneMore(target.unitId)
    const withdrawn = faults.withdrawn({ ...target, kind: 'read' })
    if (gone?.aborted) throw withdrawn
    const leave = () => {
      if (!gone) return
      turns.withdraw(gone, withdrawn)
      bus.withdraw(gone)
    }
    gone?.addEventListener('abort', leave)
    try {
      return await work({ priority: 'operator', ...(gone && { owner: gone }) })
    } finally {
      gone?.removeEventListener('abort', leave)
    }
  }

  return {
    actions: {
      read(body: MeterBody, gone?: AbortSignal) {
        const target = targetOf(body, LAST_ADDRESS)
        return forClient(target, gone, async (how) => viewOf(target, await reader.read(target, how)))
      },
      init(body: MeterBody, gone?: AbortSignal) {
        const target = targetOf(body, EVERYBODY)
        return forClient(target, gone, async (how) => {
          await reader.init(target, how)
          return { unitId: target.unitId }
        })
      },
    },
    async poll({ link, secondary, unitId }: MbusRequest, how: AskHow): Promise<MeterReading> {
      refuseOneMore(unitId)
      return await reader.read({ unitId, link, secondary }, how)
    },
  }
}

/** @param last the highest address that may be asked; 255 means all. @throws Fault `bad_fields` */
function targetOf({ address, secondary }: MeterBody, last: number): MeterTarget {
  const refuse = (field: string, message: string) =>
    new Fault('bad_fields', `${field} ${message}`, { details: { fields: [{ field, message }] } })
  if (address !== undefined && secondary !== undefined)
    throw refuse('secondary', 'is given beside address; a meter is asked by one of the two')
  if (secondary !== undefined) {
    if (/F/i.test(secondary.slice(0, 8)))
      throw refuse('secondary', `is "${secondary}"; a wildcard in the number is for a scan, one meter has eight digits`)
    const id = secondary.slice(0, 8).toUpperCase()
    return { unitId: unitOfId(id), link: SELECTED, secondary: wholeSecondary(secondary) }
  }
  if (address === undefined) throw refuse('address', 'is missing, expected a primary address, or secondary')
  if (address > LAST_ADDRESS && address !== last)
    throw refuse('address', `is ${address}, expected a whole number from 0 to ${LAST_ADDRESS}`)
  return { unitId: address, link: address, secondary: null }
}

function viewOf({ link, secondary, unitId }: MeterTarget, reading: MeterReading): ReadingView {
  const { meter, records, rest, telegrams, ...facts } = reading
  return {
    unitId,
    address: link === SELECTED ? null : link,
    secondary: meter ? secondaryOf(meter) : secondary,
    meter,
    ...facts,
    records: records.map(recordView),
    restHex: rest.map(hexOf),
    telegramsHex: telegrams.map(hexOf),
  }
}

function recordView({ data, decimal: _exact, header, name, ...record }: MbusRecord): ReadingView['records'][number] {
  return { record: name, ...record, headerHex: hexOf(header), dataHex: hexOf(data) }
}
