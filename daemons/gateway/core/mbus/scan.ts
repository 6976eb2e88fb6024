/**
 * A scan for meters, in gaps between polls: each primary address is asked once for data; or meters are selected by
 * their secondary address with wildcards, which become fewer where several meters answer at once.
 */
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { LAST_ADDRESS, SELECTED } from '../../wire/mbus/frames.ts'
import { type MeterIdentity, SECONDARY_PATTERN, secondaryOf, wholeSecondary } from '../../wire/mbus/identity.ts'
import { unitOfId } from '../../wire/meter-number.ts'
import { busFaultKind, refuseFields } from '../bus/faults.ts'
import { createScanFace, type ScanBody, type ScanProgress, ScanRun, type ScanRunParts } from '../bus/scan-run.ts'
import { type MbusReply, type MbusRequest, mbus } from './protocol.ts'
import type { AddressTurns } from './reader.ts'

/** A meter that was found. `address` is its primary one, as it named it; null where it named none. */
interface FoundMeter {
  unitId: number
  address: number | null
  secondary: string | null
  meter: MeterIdentity | null
  tookMs: number | null
}

/** One scan, with what it was asked for. */
export interface MbusScanJob extends ScanProgress {
  by: 'primary' | 'secondary'
  /** Primary addresses; null of a scan by secondary address. */
  from: number | null
  to: number | null
  /** The secondary address with wildcards that it began with; null of a scan by primary address. */
  mask: string | null
  /** How many addresses were asked, or how many selections were made. */
  asked: number
  /** How much of the work is done, 0 to 1. */
  progress: number
  /** What is being asked: an address, or a secondary address with wildcards. */
  current: string | null
  found: FoundMeter[]
  /** Where several meters answer that cannot be told apart, or one that is not understood. */
  collisions: string[]
  etaMs: number | null
}

/** As many meters and collisions as one scan may find; a segment of M-Bus carries 250 meters. */
const MOST_FOUND = 500

interface ScanPlan {
  by: 'primary' | 'secondary'
  from: number
  to: number
  mask: string
}

interface MbusScanParts extends ScanRunParts<MbusRequest, MbusReply> {
  port: string
  settings: ScanRunParts<MbusRequest, MbusReply>['settings'] & { scan_selections: number }
  turns: AddressTurns
  isOpen(): boolean
  whyNotOpen(): Fault
}

export function createMbusScan(parts: MbusScanParts) {
  return createScanFace<MbusScanJob>({
    ...parts,
    planned(body) {
      const plan = planOf(body)
      return () => new Job(plan, parts)
    },
  })
}

/** @throws Fault `bad_fields` */
function planOf(body: ScanBody): ScanPlan {
  const { address, by = 'primary', fc, from = 0, identify, mask = 'FFFFFFFF', to = LAST_ADDRESS } = body
  const fields: { field: string; message: string }[] = []
  const refuse = (field: string, message: string) => void fields.push({ field, message })
  if (fc !== undefined) refuse('fc', 'is of a scan for Modbus units; meters are asked for all they have')
  if (address !== undefined) refuse('address', 'is of a scan for Modbus units; meters are asked for all they have')
  if (identify !== undefined)
    refuse('identify', 'is of a scan for Modbus units; meters say by themselves what they are')
  if (to > LAST_ADDRESS) refuse('to', `is ${to}, expected at most ${LAST_ADDRESS}`)
  if (from > to) refuse('from', `is ${from}, above to, which is ${to}`)
  if (!new RegExp(SECONDARY_PATTERN).test(mask))
    refuse('mask', `is "${mask}", expected 8 or 16 hex digits, F for any digit of the number and FF for any other byte`)
  refuseFields(fields)
  return { by, from, to, mask: wholeSecondary(mask) }
}

/** What came of one question: nothing, one meter, or something that is not one meter. */
type Heard = { reply: MbusReply; tookMs: number } | 'nothing' | 'noise'

/** One scan from start to end. */
class Job {
  readonly run: ScanRun<MbusRequest, MbusReply>
  readonly #parts: MbusScanParts
  readonly #plan: ScanPlan
  readonly #found = new Map<string, FoundMeter>()
  readonly #collisions: string[] = []
  #current: string | undefined
  #asked = 0
  #progress = 0

  constructor(plan: ScanPlan, parts: MbusScanParts) {
    this.#plan = plan
    this.#parts = parts
    this.run = new ScanRun(parts, () => {
      this.#current = undefined
      parts.turns.withdraw(this, new Fault('scan_failed', 'The scan is over.'))
    })
    // Never rejects: a failure ends the job.
    void this.#work().then(
      () => this.run.end('done'),
      (error) => this.run.end('failed', faultOf(error, 'scan_failed', `${parts.port} could not be scanned.`)),
    )
  }

  view(): MbusScanJob {
    const { by, from, mask, to } = this.#plan
    const isPrimary = by === 'primary'
    const told = this.run.progress()
    return {
      ...told,
      by,
      from: isPrimary ? from : null,
      to: isPrimary ? to : null,
      mask: isPrimary ? null : mask,
      asked: this.#asked,
      progress: told.state === 'done' ? 1 : Math.min(1, this.#progress),
      current: this.#current ?? null,
      found: [...this.#found.values()].sort((a, b) => a.unitId - b.unitId),
      collisions: [...this.#collisions],
      etaMs: this.#etaMs(),
    }
  }

  #etaMs(): number | null {
    if (!this.run.isRunning || this.#progress === 0) return null
    return Math.round((this.run.spentMs * (1 - this.#progress)) / this.#progress)
  }

  async #work(): Promise<void> {
    if (this.#plan.by === 'secondary') {
      await this.#narrow(this.#plan.mask, 1)
      return
    }
    const { from, to } = this.#plan
    for (let address = from; address <= to && this.run.isRunning; address++) {
      this.#current = String(address)
      this.#asked++
      await this.#askAddress(address)
      this.#progress = (address - from + 1) / (to - from + 1)
    }
  }

  async #askAddress(address: number): Promise<void> {
    const target = { unitId: address, link: address, secondary: null }
    const once = () =>
      this.#inTurn({ ...target, kind: 'init' }, async () => {
        const acknowledged = await this.#ask({ ...target, kind: 'init' }, false)
        return acknowledged === 'nothing' ? 'nothing' : await this.#ask({ ...target, kind: 'read' }, false)
      })
    let heard = await once()
    // Chance may have damaged it, but two meters at one address are never understood.
    if (heard === 'noise') heard = await once()
    if (heard === 'noise') this.#collisions.push(String(address))
    else if (heard !== 'nothing') this.#add(heard, address)
  }

  // By secondary address: a tree of wildcards.

  /**
   * Selects with this mask: nobody, one meter, or several, for whom the first wildcard of the number becomes each digit
   * in turn.
   * @param share how much of the whole work it is
   */
  async #narrow(mask: string, share: number): Promise<void> {
    if (!this.run.isRunning) return
    const known = this.#found.size + this.#collisions.length
    if (this.#asked >= this.#parts.settings.scan_selections || known >= MOST_FOUND)
      throw new Fault(
        'mbus_scan_too_long',
        `The scan stopped after ${this.#asked} selections with ${known} answers, as settings.scan_selections allows ${this.#parts.settings.scan_selections} and a line has ${MOST_FOUND} meters at most: noise on the line answers like meters do.`,
      )
    this.#current = mask
    this.#asked++
    const heard = await this.#select(mask)
    if (heard === 'noise' || (heard !== 'nothing' && !(await this.#isThere(mask, heard.reply))))
      await this.#narrowNext(mask, share)
    else {
      if (heard !== 'nothing') this.#add(heard, null)
      this.#progress += share
    }
  }

  /**
   * Answers of several may fall together to a whole one, once in some hundred times, of a meter that is not there.
   * A meter that is there answers when it is selected by its own number.
   */
  async #isThere(mask: string, { telegram }: MbusReply): Promise<boolean> {
    const id = telegram?.meter?.id
    if (id === undefined || !/^\d{8}$/.test(id) || !mask.slice(0, 8).includes('F')) return true
    this.#asked++
    const again = await this.#select(id + mask.slice(8))
    return typeof again !== 'string' && again.reply.telegram?.meter?.id === id
  }

  async #narrowNext(mask: string, share: number): Promise<void> {
    const at = mask.slice(0, 8).indexOf('F')
    const knownBefore = this.#found.size + this.#collisions.length
    if (at < 0) this.#progress += share
    else
      for (let digit = 0; digit <= 9; digit++)
        await this.#narrow(`${mask.slice(0, at)}${digit}${mask.slice(at + 1)}`, share / 10)
    // Somebody has answered whom no digit reaches: two meters of one number, or one whose number is no number.
    if (this.run.isRunning && this.#found.size + this.#collisions.length === knownBefore) this.#collisions.push(mask)
  }

  /** The acknowledgements of several may fall together to one, so that only their data shows that they are several. */
  #select(mask: string): Promise<Heard> {
    const target = { unitId: SELECTED, link: SELECTED, secondary: mask }
    return this.#inTurn({ ...target, kind: 'select' }, async () => {
      const acknowledged = await this.#ask({ ...target, kind: 'select' }, true)
      if (typeof acknowledged === 'string') return acknowledged
      const read = await this.#ask({ ...target, kind: 'read' }, true)
      return read === 'nothing' ? 'noise' : read
    })
  }

  #add({ reply, tookMs }: Exclude<Heard, string>, asked: number | null): void {
    const meter = reply.telegram?.meter ?? null
    const address = asked ?? addressIn(reply)
    const unitId = asked ?? (meter ? unitOfId(meter.id) : SELECTED)
    const secondary = meter && secondaryOf(meter)
    const time = Math.round(tookMs * 10) / 10
    this.#found.set(secondary ?? `at ${address}`, { unitId, address, secondary, meter, tookMs: time })
  }

  // Questions, one at a time at each address, behind all others.

  async #inTurn(request: MbusRequest, work: () => Promise<Heard>): Promise<Heard> {
    if (!this.run.isRunning) return 'nothing'
    const how = { priority: 'background', owner: this } as const
    const leave = await this.run.patiently(() => this.#parts.turns.enter(request, how))
    if (leave instanceof Fault) {
      if (!this.run.isRunning) return 'nothing'
      throw leave
    }
    try {
      return await work()
    } finally {
      leave()
    }
  }

  async #ask(request: MbusRequest, isWildcard: boolean): Promise<Heard> {
    const outcome = await this.run.ask(mbus.seal(request), isWildcard)
    if (!(outcome instanceof Fault)) {
      const { reply, tookMs } = outcome
      return reply ? { reply, tookMs } : 'nothing'
    }
    const kind = busFaultKind(outcome)
    if (!this.run.isRunning || kind === 'noReply') return 'nothing'
    if (kind === 'badReply') return 'noise'
    throw outcome
  }
}

/** The primary address in a reply; the selected meter may name 253 instead of its own. */
function addressIn({ frame }: MbusReply): number | null {
  const address = frame[5] ?? SELECTED
  return address <= LAST_ADDRESS ? address : null
}
