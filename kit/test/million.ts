/**
 * A million random and mutated packets for one reader: nothing is thrown but the faults it names, and nothing stays in
 * memory.
 */
import type { Test } from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { heldBytes } from './heap.ts'

const PACKETS = 1_000_000
/** Growth of the heap is judged from here on: V8 has compiled and learned by then. */
const WARM = 50_000
const MOST_GROWTH_MB = 2
const MOST_RANDOM_BYTES = 300
const MOST_CHANGES = 6

/** A number from 0 to less than `most`. */
export type Below = (most: number) => number

/** A reader under fire. */
export interface Fire {
  golden: readonly Uint8Array[]
  /** Everything that reads a packet, in the order the daemon would. @throws Fault with one of `faults` */
  read(packet: Uint8Array, below: Below): void
  /** The packet with its lengths and checksums mended, as far as it has room for them; half of the mutated ones are. */
  mend?(packet: Uint8Array): Uint8Array
  faults: RegExp
  /** One packet in so many is random from its first byte on. */
  randomOneIn: number
}

/** The same numbers in each run: a packet that throws can be found again. @source Marsaglia, Xorshift RNGs, 2003 */
function numbers(seed: number): Below {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

/** A random packet, or a golden one with bytes changed, cut off, doubled or moved. */
function nextPacket(below: Below, { golden, mend, randomOneIn }: Fire): Uint8Array {
  if (below(randomOneIn) === 0) return Uint8Array.from({ length: below(MOST_RANDOM_BYTES) }, () => below(256))
  let bytes = (golden[below(golden.length)] ?? new Uint8Array(0)).slice()
  for (let left = below(MOST_CHANGES); left > 0 && bytes.length > 0; left--) {
    const at = below(bytes.length)
    const change = below(8)
    if (change < 5) bytes[at] = below(256)
    else if (change === 5) bytes = bytes.slice(0, at)
    else if (change === 6) bytes = Uint8Array.of(...bytes.subarray(0, at), ...bytes.subarray(at >> 1))
    else bytes[at] = 0xff
  }
  return mend && below(2) === 0 ? mend(bytes) : bytes
}

/** Prints what became of the packets, and how much the heap grew. */
export async function fireAt(t: Test, fire: Fire): Promise<void> {
  const below = numbers(0x5eed)
  const outcomes = new Map<string, number>()
  let heldWarm = 0
  for (let count = 0; count < PACKETS; count++) {
    if (count === WARM) heldWarm = await heldBytes()
    const packet = nextPacket(below, fire)
    let outcome = 'read'
    try {
      fire.read(packet, below)
    } catch (error) {
      if (!(error instanceof Fault) || !fire.faults.test(error.code)) {
        t.fail(`packet ${count}, ${Buffer.from(packet).toString('hex')}: ${error}`)
        return
      }
      outcome = error.code
    }
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  const grownMb = ((await heldBytes()) - heldWarm) / 1e6
  const told = [...outcomes].map(([outcome, times]) => `${outcome} ${times}`).join(', ')
  console.log(`${t.name}: ${told}; the heap grew by ${grownMb.toFixed(2)} MB`)
  t.ok(grownMb < MOST_GROWTH_MB, `${grownMb} MB`)
  t.ok((outcomes.get('read') ?? 0) > PACKETS / 100, 'many are read whole')
}
