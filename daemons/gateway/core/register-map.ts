/** The coils and registers that a unit of ours serves. */
import type { Clock } from '#kit/clock.ts'

/** The four tables of the Modbus data model. @source Modbus Application Protocol V1.1b3, 4.3 */
export const registerTables = ['coils', 'discrete_inputs', 'holding_registers', 'input_registers'] as const
export type RegisterTable = (typeof registerTables)[number]

/** Addresses of one table that are served. `initial`: what they hold at start; null: nothing until written. */
export interface RegisterBlock {
  table: RegisterTable
  address: number
  quantity: number
  initial: number | null
}

/** Stands in a block where nothing was written yet; values are 0..65535. */
const NEVER = -1

/** A block, and where its values begin among those of its map. */
interface Served {
  block: RegisterBlock
  first: number
}

/** All units of a port serve the same blocks; what follows from them is there once. */
const servedOf = new WeakMap<readonly RegisterBlock[], { all: readonly Served[]; size: number }>()

/** Values of one unit. Each call is whole: nobody sees a part of a write. */
export class RegisterMap {
  readonly #clock: Clock
  readonly #blocks: readonly Served[]
  readonly #values: Int32Array
  /** Epoch milliseconds; 0 where it was never written. */
  readonly #writtenAt: Float64Array

  /** @param blocks checked: within 0..65535, none overlaps another of its table; not to be changed afterwards */
  constructor(blocks: readonly RegisterBlock[], clock: Clock) {
    this.#clock = clock
    const { all, size } = servedBy(blocks)
    this.#blocks = all
    // Of all blocks together: two arrays for each of thousands that hold one value would be a hundred times the value.
    this.#values = new Int32Array(size)
    this.#writtenAt = new Float64Array(size)
    for (const { block, first } of all) this.#values.fill(block.initial ?? NEVER, first, first + block.quantity)
  }

  /** @returns the values, null where none was written; undefined where not all addresses are served */
  read(table: RegisterTable, address: number, quantity: number): (number | null)[] | undefined {
    const places = this.#places(table, address, quantity)
    return places?.map((at) => {
      const value = this.#values[at] ?? NEVER
      return value === NEVER ? null : value
    })
  }

  /**
   * Writes all or nothing.
   * @param values 0..65535; null takes a value back, as if it had never been written
   * @returns false where not all addresses are served
   */
  write(table: RegisterTable, address: number, values: readonly (number | null)[]): boolean {
    const places = this.#places(table, address, values.length)
    const nowMs = this.#clock.epochMs()
    for (const [index, at] of places?.entries() ?? []) {
      this.#values[at] = values[index] ?? NEVER
      this.#writtenAt[at] = nowMs
    }
    return places !== undefined
  }

  /** When one of these was last written, epoch milliseconds; null where none was, or where they are not served. */
  writtenAt(table: RegisterTable, address: number, quantity: number): number | null {
    const places = this.#places(table, address, quantity) ?? []
    return places.reduce((newest, at) => Math.max(newest, this.#writtenAt[at] ?? 0), 0) || null
  }

  /** Blocks may stand side by side, so a range may lie in several. */
  #places(table: RegisterTable, address: number, quantity: number): number[] | undefined {
    const places: number[] = []
    for (let place = address; place < address + quantity; place++) {
      const served = this.#blocks.find(({ block }) => isIn(block, table, place))
      if (!served) return undefined
      places.push(served.first + place - served.block.address)
    }
    return places
  }
}

function servedBy(blocks: readonly RegisterBlock[]): { all: readonly Served[]; size: number } {
  const known = servedOf.get(blocks)
  if (known) return known
  let size = 0
  const all = blocks.map((block) => {
    const first = size
    size += block.quantity
    return { block, first }
  })
  servedOf.set(blocks, { all, size })
  return { all, size }
}

function isIn(block: RegisterBlock, table: RegisterTable, address: number): boolean {
  return block.table === table && address >= block.address && address < block.address + block.quantity
}
