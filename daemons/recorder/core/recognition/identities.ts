/** The book of identities: whom somebody gave a name, and by what they are recognised. */
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import { type Certainty, foldedPlate, isOneOff, plainPlate, SIGNS } from './plates.ts'
import type { RecognisedStore } from './recognised.ts'

/** A vehicle with a name. */
export interface Identity {
  id: string
  name: string
  /** Letters and digits, in capitals. */
  plates: readonly string[]
  /** Epoch milliseconds. */
  createdAt: number
}

/** What is on the disk. */
export interface RecognitionRecord {
  /** Whether anything is recognised. */
  enabled: boolean
  identities: readonly Identity[]
}

interface IdentityWish {
  name?: string | undefined
  plates?: readonly string[] | undefined
}

/** @param merged another one whose readings these are from now on */
type Changed = readonly (Pick<Identity, 'id' | 'plates'> & { merged?: string })[]

interface BookParts {
  record: RecognitionRecord
  /** Resolves once it is on disk. */
  save(record: RecognitionRecord): Promise<void>
  newId(): string
  nowAt(): number
  /** Key `recognition.identities`. */
  most: number
  /** The plates of these have changed, or are gone: earlier readings are matched again. */
  onChange(changed: Changed): Promise<void>
  readings: Pick<RecognisedStore, 'held' | 'isMatchedBy' | 'readingsOf' | 'setMatched'>
}

/** What a reading is taken for. */
interface Match {
  identityId: string | null
  state: Certainty
}

/** Changes throw Fault `bad_plate`, `plate_taken`, `unknown_identity`, `too_many_identities`, `store_write_failed`. */
export interface IdentityBook {
  isOn(): boolean
  turn(isOn: boolean): Promise<void>
  list(): readonly Identity[]
  find(id: string): Identity | undefined
  /** @throws Fault `unknown_identity` */
  require(id: string): Identity
  match(plate: string, confidence: number): Match
  add(wish: { name: string; plates: readonly string[] }): Promise<Identity>
  change(id: string, wish: IdentityWish): Promise<Identity>
  /** What one has the other has, and the one is gone. */
  merge(id: string, into: string): Promise<Identity>
  forget(id: string): Promise<void>
  /** Matches earlier readings again where a kill came between a change and that. @throws Fault of the store */
  catchUp(): Promise<void>
}

/** Vehicles of one name. */
export const MOST_PLATES_OF_ONE = 16

/** A plate that was read with less is no proof. */
export const SURE_CONFIDENCE = 0.75
/** With so few signs one that is wrong makes it any plate. */
const LEAST_FOR_ONE_OFF = 5

/** Whether a reading that is not this plate may be of it all the same: one sign is wrong. @param plate folded, as the reading */
export function isNear(plate: string, reading: string): boolean {
  return plate.length >= LEAST_FOR_ONE_OFF && isOneOff(plate, reading)
}

export function createIdentityBook(parts: BookParts): IdentityBook {
  return new Book(parts)
}

class Book implements IdentityBook {
  readonly #parts: BookParts
  #enabled: boolean
  #identities: readonly Identity[]
  /** Id of whose each plate is, by its folded text: there are thousands, and each reading is compared. */
  readonly #owners = new Map<string, string>()
  readonly #inTurn = createSerialTurn()
  /** Not all earlier readings may be matched by what is saved. */
  #isBehind = true

  constructor(parts: BookParts) {
    this.#parts = parts
    this.#enabled = parts.record.enabled
    this.#identities = parts.record.identities
    this.#own(this.#identities)
  }

  isOn(): boolean {
    return this.#enabled
  }

  turn(isOn: boolean): Promise<void> {
    return this.#inTurn(async () => {
      await this.#parts.save({ enabled: isOn, identities: this.#identities })
      this.#enabled = isOn
    })
  }

  list(): readonly Identity[] {
    return this.#identities
  }

  find(id: string): Identity | undefined {
    return this.#identities.find((one) => one.id === id)
  }

  require(id: string): Identity {
    const found = this.find(id)
    if (!found) throw new Fault('unknown_identity', 'There is no identity with this id: it was merged or forgotten.')
    return found
  }

  match(plate: string, confidence: number): Match {
    const folded = foldedPlate(plate)
    const same = this.#owners.get(folded)
    if (same !== undefined) return { identityId: same, state: confidence >= SURE_CONFIDENCE ? 'known' : 'unsure' }
    const near = new Set<string>()
    for (const [one, owner] of this.#owners) if (isNear(one, folded)) near.add(owner)
    // Of two that it may be it is neither.
    const [only] = near.size === 1 ? near : []
    return only === undefined ? { identityId: null, state: 'unknown' } : { identityId: only, state: 'unsure' }
  }

  add({ name, plates }: { name: string; plates: readonly string[] }): Promise<Identity> {
    const { most, newId, nowAt } = this.#parts
    return this.#inTurn(async () => {
      if (this.#identities.length >= most)
        throw new Fault('too_many_identities', `${most} identities are kept at most. Forget one, or merge two.`)
      const theirs = this.#platesOf(plates, null)
      const made: Identity = { id: newId(), name, plates: theirs, createdAt: nowAt() }
      await this.#put([...this.#identities, made], [made])
      return made
    })
  }

  change(id: string, { name, plates }: IdentityWish): Promise<Identity> {
    return this.#inTurn(async () => {
      const before = this.require(id)
      const theirs = plates ? this.#platesOf(plates, id) : before.plates
      const next = { ...before, name: name ?? before.name, plates: theirs }
      const all = this.#identities.map((one) => (one === before ? next : one))
      await this.#put(all, plates ? [next] : [])
      return next
    })
  }

  merge(id: string, into: string): Promise<Identity> {
    return this.#inTurn(async () => {
      const [from, to] = [this.require(id), this.require(into)]
      if (from === to)
        throw new Fault('unknown_identity', 'An identity cannot be merged into itself. Choose another one.')
      const plates = [...to.plates, ...from.plates]
      if (plates.length > MOST_PLATES_OF_ONE)
        throw new Fault('bad_plate', `Both have ${plates.length} plates; one name has at most ${MOST_PLATES_OF_ONE}.`)
      const next = { ...to, plates }
      const others = this.#identities.filter((one) => one !== from)
      await this.#put(
        others.map((one) => (one === to ? next : one)),
        [{ ...next, merged: id }],
      )
      return next
    })
  }

  forget(id: string): Promise<void> {
    return this.#inTurn(async () => {
      const gone = this.require(id)
      const others = this.#identities.filter((one) => one !== gone)
      await this.#put(others, [{ id, plates: [] }])
    })
  }

  async #put(next: readonly Identity[], changed: Changed): Promise<void> {
    await this.#parts.save({ enabled: this.#enabled, identities: next })
    this.#identities = next
    this.#own(changed)
    await this.#rematch(changed)
  }

  catchUp(): Promise<void> {
    return this.#inTurn(async () => {
      this.#isBehind = !(await this.#parts.readings.isMatchedBy(this.#identities))
      if (this.#isBehind) await this.#rematch([])
    })
  }

  /** What an earlier change left behind is made good with this one. */
  async #rematch(changed: Changed): Promise<void> {
    const { onChange, readings } = this.#parts
    const due = this.#isBehind ? await this.#everything() : changed
    this.#isBehind = true
    await readings.setMatched(undefined)
    await onChange(due)
    await readings.setMatched(this.#identities)
    this.#isBehind = false
  }

  /** Readings of one that is gone are of who has its plates now: the two were merged. */
  async #everything(): Promise<Changed> {
    const { readings } = this.#parts
    const all: Changed[number][] = []
    for (const id of await readings.held()) {
      if (this.find(id)) continue
      const matches = (await readings.readingsOf(id)).flatMap((text) => this.match(text, 1).identityId ?? [])
      const heir = this.find(matches[0] ?? '')
      all.push(heir ? { ...heir, merged: id } : { id, plates: [] })
    }
    return [...all, ...this.#identities]
  }

  /** These plates, and no others, are of these. */
  #own(changed: Changed): void {
    const ids = new Set(changed.map(({ id }) => id))
    for (const [plate, id] of this.#owners) if (ids.has(id)) this.#owners.delete(plate)
    for (const { id, plates } of changed) for (const plate of plates) this.#owners.set(foldedPlate(plate), id)
  }

  /** @throws Fault `bad_plate`, `plate_taken` */
  #platesOf(texts: readonly string[], of: string | null): string[] {
    const plates = [...new Map(texts.map(requirePlain).map((plate) => [foldedPlate(plate), plate])).values()]
    if (plates.length > MOST_PLATES_OF_ONE)
      throw new Fault('bad_plate', `${plates.length} plates were given; one name has at most ${MOST_PLATES_OF_ONE}.`)
    for (const plate of plates) {
      const other = this.find(this.#owners.get(foldedPlate(plate)) ?? '')
      if (other && other.id !== of) {
        const theirs = other.plates.find((one) => foldedPlate(one) === foldedPlate(plate))
        const why = theirs === plate ? '' : `, and ${plate} cannot be told from it`
        throw new Fault(
          'plate_taken',
          `The plate ${theirs} belongs to ${other.name}${why}. Change that one, or merge the two.`,
        )
      }
    }
    return plates
  }
}

/** @throws Fault `bad_plate` */
export function requirePlain(text: string): string {
  const plain = plainPlate(text)
  if (plain === '')
    throw new Fault('bad_plate', `'${text}' has no letter or digit. Write the plate as it stands on the vehicle.`)
  // One sign may stand for many letters: it is counted as it is compared.
  const signs = [...plain].length
  if (signs > SIGNS.most)
    throw new Fault('bad_plate', `'${text}' has ${signs} letters and digits; a plate has ${SIGNS.most} at most.`)
  return plain
}
