/**
 * Fences: harmless reads whose answers cannot be taken for anything that a unit owes. A unit answers in order, so once
 * it has answered a fence nothing asked before is to come.
 * @see docs/decisions/041-late-replies.md
 */
import { sealed } from '../wire/modbus-crc.ts'
import { modbusFunctions } from '../wire/modbus-functions.ts'
import { isMistakable, type SentRequest } from '../wire/modbus-reply.ts'
import { openRequest } from '../wire/modbus-request.ts'

/** A request that may still be answered. */
export interface Outstanding extends SentRequest {
  /** Its exception may still come; where not, its values may: an exception is not always the answer to what was asked. */
  mayRefuse: boolean
  isFence: boolean
}

/** Reads kept of each unit that it is known to answer, the last of each function and length. */
const KNOWN_KEPT = 6

/** Reads of another function, where those of the function asked came to nothing: a unit refuses what it does not have. */
const READS = [3, 4, 1, 2] as const

/** Which read looks at what a function asks about. */
const readBehind: Readonly<Record<number, number>> = { 1: 1, 2: 2, 4: 4, 5: 1, 15: 1 }

/** What of a unit is known to be answered. @returns the list, the latest first */
export function withKnown(known: readonly SentRequest[], sent: SentRequest): readonly SentRequest[] {
  if (modbusFunctions.get(sent.request.fc)?.isWrite !== false || sent.request.fc === 43) return known
  if (known[0]?.frame === sent.frame) return known
  return [sent, ...known.filter((one) => !isMistakable(one, sent))].slice(0, KNOWN_KEPT)
}

/**
 * Chooses the read that clears what a unit owes, on behalf of a request that could be mistaken for it: one that the unit
 * has answered before; else a part of one, which it has too; else another length at such a place; else another function there. Never a write.
 * @returns undefined where each could be taken for something owed
 */
export function fenceFor(
  asked: SentRequest,
  owed: readonly Outstanding[],
  known: readonly SentRequest[],
): SentRequest | undefined {
  const isClear = (one: SentRequest) => !owed.some((other) => isMistakable(one, other))
  const isRefusable = ({ request }: SentRequest) => !owed.some((one) => one.mayRefuse && one.request.fc === request.fc)
  const clear = known.filter(isClear)
  const best = clear.find(isRefusable) ?? clear[0]
  if (best) return best
  for (const one of known) for (const part of partsOf(one)) if (isClear(part)) return part
  const place = known.find(({ request }) => request.fc === asked.request.fc) ?? known[0] ?? asked
  const { unitId, address } = place.request
  const fc = readAt(place)
  const isOf = (code: number) => (one: Outstanding) => one.request.fc === code
  const triedOf = (code: number) => owed.filter((one) => one.isFence && isOf(code)(one)).length
  // A function is tried last of which an exception could be one to what is owed: it would settle nothing.
  const isDimOf = (code: number) => Number(owed.some((one) => one.mayRefuse && isOf(code)(one)))
  const codes = [fc, ...READS.filter((one) => one !== fc)].sort(
    (one, other) => isDimOf(one) - isDimOf(other) || triedOf(one) - triedOf(other),
  )
  for (const code of codes)
    for (const quantity of quantitiesOf(code, place)) {
      if (address + quantity > 65_536) continue
      const fence = readFrame(unitId, code, address, quantity)
      if (isClear(fence)) return fence
    }
  return undefined
}

/** Which read looks at the place a request is about. */
export function readAt({ request: { fc } }: SentRequest): number {
  return readBehind[fc] ?? 3
}

/** A read, as it goes out. */
export function readFrame(unitId: number, fc: number, address: number, quantity: number): SentRequest {
  const frame = sealed([unitId, fc, address >> 8, address & 0xff, quantity >> 8, quantity & 0xff])
  return { frame, request: openRequest(frame) }
}

/** Shorter reads of what was answered: a unit that has the whole has its beginning too. */
function* partsOf(one: SentRequest): Iterable<SentRequest> {
  const { unitId, fc, address, quantity } = one.request
  const shape = modbusFunctions.get(fc)?.shape
  if (shape !== 'readBits' && shape !== 'readWords') return
  const step = shape === 'readBits' ? 8 : 1
  for (let fewer = quantity - step; fewer > 0; fewer -= step) yield readFrame(unitId, fc, address, fewer)
}

/** Lengths of reads: of registers half of what is answered, then one after the other; of bits one byte more each time. */
function* quantitiesOf(code: number, { request }: SentRequest): Iterable<number> {
  const isBits = modbusFunctions.get(code)?.shape === 'readBits'
  const most = modbusFunctions.get(code)?.maxQuantity ?? 1
  if (!isBits && request.fc === code && request.quantity > 3) yield request.quantity >> 1
  for (let quantity = 1; quantity <= most; quantity += isBits ? 8 : 1) yield quantity
}
