/** The number by which the gateway names a meter: its primary address, or the number printed on it. */
import { LAST_ADDRESS } from './mbus/frames.ts'

/** Below stand primary addresses, so that a lower identification number is moved out of their way. */
const FIRST_ID = 1000
/** Eight digits are less than this. */
const BEYOND_IDS = 100_000_000
/** Numbers that are no digits: their four bytes, from here on. */
const ODD_IDS = 1_000_000_000
/**
 * The number of the meter with this identification: its eight digits, plus 100000000 where they are below 1000; where
 * they are no digits, 1000000000 plus their hexadecimal value.
 * @source our own numbering
 */
export function unitOfId(id: string): number {
  if (!/^\d{8}$/.test(id)) return ODD_IDS + Number.parseInt(id, 16)
  const number = Number(id)
  return number < FIRST_ID ? BEYOND_IDS + number : number
}

/** The eight digits of a meter by its number, which is no primary address. @source our own numbering */
export function idOfUnit(unitId: number): string {
  const id = unitId >= ODD_IDS ? (unitId - ODD_IDS).toString(16).toUpperCase() : String(unitId % BEYOND_IDS)
  return id.padStart(8, '0')
}

/**
 * Whether a number is that of one meter: no other number means it, and no digit of it is F, which would select any meter.
 * @source our own numbering
 */
export function isUnitOfMeter(unitId: number): boolean {
  if (unitId <= LAST_ADDRESS) return true
  const id = idOfUnit(unitId)
  return !id.includes('F') && unitOfId(id) === unitId
}
