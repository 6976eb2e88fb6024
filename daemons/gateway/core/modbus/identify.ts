/**
 * What a unit is: what it says itself by function 43/14, which is certain, or else the devices of the templates whose
 * signs fit, which never is.
 */
import { Fault } from '#kit/pure/fault.ts'
import type { IdentificationObject, ModbusRequest } from '../../wire/modbus-request.ts'
import {
  createPointReader,
  type PointFormat,
  type PointValue,
  plainFormat,
  pointLength,
} from '../../wire/point-value.ts'
import { busFaultKind } from '../bus/faults.ts'
import type { PointTemplate, TemplateSign } from '../points/definition.ts'
import type { ModbusReply } from './protocol.ts'
import type { ModbusLimits } from './settings.ts'

/** A device that a unit could be. */
export interface Candidate {
  /** Id of its template. */
  template: string
  maker: string
  model: string
  signs: number
  fit: number
  /** `codes`: a code that its maker documents fits; `values`: the values at its addresses are plausible, no more. */
  by: 'codes' | 'values'
}

/** What is known of a unit. */
export interface UnitIdentity {
  /** `said`: by the unit itself; `possible`: signs of devices fit; `unknown`: neither. */
  kind: 'said' | 'possible' | 'unknown'
  /** What the unit says of itself, cleaned; empty where it says nothing. */
  objects: IdentificationObject[]
  candidates: Candidate[]
  /** What was tried, in a sentence. */
  tried: string
}

/** Asks the unit. @returns the reply, which may be a refusal, or why there is none */
type AskUnit = (request: ModbusRequest) => Promise<ModbusReply | Fault>

interface IdentifyParts {
  unitId: number
  ask: AskUnit
  templates: readonly PointTemplate[]
  limits: ModbusLimits
}

/** @throws Fault that has nothing to do with the unit: the line was closed, the request was withdrawn, no place for it */
export async function identifyUnit(parts: IdentifyParts): Promise<UnitIdentity> {
  const unit = new Questions(parts)
  const said = await saidBy(unit, parts.limits.identify_replies)
  const templates = parts.templates.filter(({ maker, signs = [] }) => signs.length > 0 && isOf(maker, said.objects))
  const weighed: Weighed[] = []
  for (const template of templates) {
    if (unit.isOver) break
    weighed.push(await weigh(template, unit, said.objects))
  }
  const candidates = candidatesOf(weighed)
  const kind = said.objects.length > 0 ? 'said' : candidates.length > 0 ? 'possible' : 'unknown'
  const compared = `${weighed.length} of ${templates.length} devices were compared by ${unit.reads} reads`
  return { kind, objects: said.objects, candidates, tried: `${said.tried}; ${compared}${unit.whyOver}.` }
}

/** A unit that says who made it is compared with devices of that maker alone. */
function isOf(maker: string, objects: readonly IdentificationObject[]): boolean {
  const vendor = objects.find(({ id }) => id === 0)?.value.toLowerCase()
  if (vendor === undefined || vendor === '') return true
  return vendor.includes(maker.toLowerCase()) || maker.toLowerCase().includes(vendor)
}

// Questions to one unit, of which none is asked twice, and which end where the unit falls silent.

class Questions {
  readonly #parts: IdentifyParts
  readonly #known = new Map<string, readonly number[] | undefined>()
  #silent = 0

  constructor(parts: IdentifyParts) {
    this.#parts = parts
  }

  get reads(): number {
    return this.#known.size
  }

  get isOver(): boolean {
    const { identify_reads, identify_silent } = this.#parts.limits
    return this.#silent >= identify_silent || this.reads >= identify_reads
  }

  /** Why no more is asked, as the end of a sentence. */
  get whyOver(): string {
    const { identify_reads, identify_silent } = this.#parts.limits
    if (this.#silent >= identify_silent) return ', until it did not answer any more'
    return this.reads >= identify_reads ? ', which is as many as modbus.identify_reads allows' : ''
  }

  /** @returns undefined where the unit has no such registers, or is not asked any more */
  async words(
    { fc, address }: { fc: number; address: number },
    quantity: number,
  ): Promise<readonly number[] | undefined> {
    const key = `${fc} ${address} ${quantity}`
    if (this.#known.has(key)) return this.#known.get(key)
    if (this.isOver) return undefined
    const reply = await this.ask({ fc, address, quantity })
    const words = reply instanceof Fault || reply.isRefusal ? undefined : (reply.values as readonly number[])
    this.#known.set(key, words)
    return words
  }

  /** @throws Fault that has nothing to do with the unit */
  async ask(request: Omit<ModbusRequest, 'unitId'>): Promise<ModbusReply | Fault> {
    const { ask, unitId } = this.#parts
    const reply = await ask({ unitId, ...request })
    const kind = reply instanceof Fault ? busFaultKind(reply) : undefined
    if (reply instanceof Fault && kind !== 'noReply' && kind !== 'badReply') throw reply
    this.#silent = kind === undefined ? 0 : this.#silent + 1
    return reply
  }
}

// What the unit says itself.

const MEI_FUNCTION = 43
/** Read device id code: vendor, product code and revision, which every unit with the function has. */
const BASIC = 1
const BASIC_OBJECTS = 3

/** @source Modbus Application Protocol V1.1b3, 6.21 */
async function saidBy(
  unit: Questions,
  mostReplies: number,
): Promise<{ objects: IdentificationObject[]; tried: string }> {
  const objects: IdentificationObject[] = []
  let address = 0
  for (let left = mostReplies; left > 0; left--) {
    const reply = await unit.ask({ fc: MEI_FUNCTION, address, quantity: BASIC })
    if (reply instanceof Fault) return { objects, tried: 'It did not answer function 43/14' }
    const { exception, nextObjectId = null, values = [] } = reply
    if (exception)
      return { objects, tried: `It refused function 43/14 with exception ${exception.code}, ${exception.name}` }
    for (const object of values as readonly IdentificationObject[]) {
      const value = cleaned(object.value)
      const isNew = object.id < BASIC_OBJECTS && !objects.some(({ id }) => id === object.id)
      if (isNew && value !== '') objects.push({ ...object, value })
    }
    if (nextObjectId === null || nextObjectId <= address) break
    address = nextObjectId
  }
  return { objects, tried: objects.length > 0 ? 'It answered function 43/14' : 'Its answer to function 43/14 is empty' }
}

/** The longest name that is shown. */
const NAME_CHARACTERS = 48

/** Devices fill their names with blanks, zeros and worse. */
function cleaned(text: string): string {
  return text
    .replaceAll(/[^\x20-\x7e\xa1-\xff]+/g, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
    .slice(0, NAME_CHARACTERS)
    .trim()
}

// Signs of the devices that are known.

interface Weighed {
  template: PointTemplate
  signs: number
  fit: number
  /** How many of the signs are codes, and how many of these fit. */
  codes: number
  codesFit: number
}

/** Devices of which nothing was refuted; where codes of one fit, those with plausible values alone are left out. */
function candidatesOf(weighed: readonly Weighed[]): Candidate[] {
  const byCodes = weighed.filter(({ codes, codesFit }) => codes > 0 && codesFit === codes)
  const byValues = weighed.filter(({ codes, fit, signs }) => codes === 0 && fit === signs)
  const by = byCodes.length > 0 ? 'codes' : 'values'
  return (byCodes.length > 0 ? byCodes : byValues).slice(0, MOST_CANDIDATES).map(({ fit, signs, template }) => ({
    ...{ template: template.id, maker: template.maker, model: template.model },
    ...{ signs, fit, by },
  }))
}

/** With more nobody is helped. */
const MOST_CANDIDATES = 4

/** Codes come first, and one that does not fit is the end. */
async function weigh(
  template: PointTemplate,
  unit: Questions,
  objects: readonly IdentificationObject[],
): Promise<Weighed> {
  const { signs = [] } = template
  const codes = signs.filter((sign) => !('point' in sign))
  let codesFit = 0
  for (const sign of codes) {
    if (!(await isFitting(sign, template, unit, objects))) break
    codesFit++
  }
  let fit = codesFit
  if (codesFit === codes.length)
    for (const sign of signs.filter((one) => 'point' in one)) {
      if (await isFitting(sign, template, unit, objects)) fit++
      else if (codes.length === 0) break
    }
  return { template, signs: signs.length, fit, codes: codes.length, codesFit }
}

async function isFitting(
  sign: TemplateSign,
  { points }: PointTemplate,
  unit: Questions,
  objects: readonly IdentificationObject[],
): Promise<boolean> {
  if ('object' in sign) {
    const text = objects.find(({ id }) => id === sign.object)?.value ?? ''
    return sign.begins.some((start) => text.startsWith(start))
  }
  if ('point' in sign) {
    const point = points.find(({ name }) => name === sign.point)
    const value = point && (await valueAt(point, point, unit))
    return typeof value === 'number' && value >= sign.from && value <= sign.to
  }
  const value = await valueAt(sign, { ...plainFormat, type: sign.type, length: sign.length }, unit)
  return value !== undefined && sign.is.includes(value as number | string)
}

/** @returns undefined where the unit has no such registers, or no value in them */
async function valueAt(
  place: { fc: number; address: number },
  format: PointFormat,
  unit: Questions,
): Promise<PointValue | undefined> {
  const words = await unit.words(place, pointLength(format))
  try {
    return words && createPointReader(format)(words)
  } catch (error) {
    if (error instanceof Fault && error.code === 'point_no_value') return undefined
    throw error
  }
}
