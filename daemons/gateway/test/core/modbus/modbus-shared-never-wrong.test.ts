/** All users of one misbehaving line at once, while it is closed, opened and set up again: what is handed up is true. */

import fc from 'fast-check'
import t from 'tap'
import type { Utterance } from '../../../../../scripts/sim/modbus-device.ts'
import type { SimulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { requireFace } from '../../../core/lines/port-registry.ts'
import type { PointDefinition } from '../../../core/points/definition.ts'
import { replyFrame } from '../../../wire/modbus-reply.ts'
import type { ModbusRequest } from '../../../wire/modbus-request.ts'
import { act } from '../act.ts'
import type { PromptSetup } from './prompt-model.ts'
import { type SharedLineSetup, sharedLine } from './shared-line.ts'
import {
  definitionsOf,
  type Manner,
  manner,
  promptOrNot,
  type Step,
  steps,
  type Table,
  table,
  UNITS,
  utterances,
} from './shared-line-steps.ts'

/** A word that stands for the instant counts steps of this many milliseconds. */
const TICK_MS = 10

/** Even addresses say which register of which unit they are, odd ones when the unit was asked. */
function wordAt(unitId: number, code: number, address: number, atMs: number): number {
  return address % 2 === 0 ? (unitId << 12) | (code << 9) | address : Math.floor(atMs / TICK_MS) & 0xffff
}

interface Tally {
  rest: number
  tcp: number
  points: number
  faults: number
}

/** One line: what everybody got from it is compared with what the units said. */
class Trial {
  readonly tally: Tally
  readonly #on: ReturnType<typeof sharedLine>
  #points: PointDefinition[]
  readonly #clients = new Map<number, { ask(one: ModbusRequest): void; leave(): void }>()
  readonly #saidMs = new Map<number, number>()
  #open = 0
  #isWell = false

  constructor(
    manners: readonly Manner[],
    places: Table,
    { prompt, tally }: { prompt: PromptSetup | undefined; tally: Tally },
  ) {
    let turn = 0
    this.tally = tally
    this.#points = definitionsOf(places)
    const setup: SharedLineSetup = {
      points: this.#points,
      prompt,
      units: UNITS.map((unitId) => this.#unit(unitId)),
      settings: { breaker_failures: 4, breaker_retry_ms: 1000 },
      say: (reply, request) =>
        this.#isWell
          ? [{ afterMs: 1, bytes: reply }]
          : this.#inOrder(request.unitId, utterances(manners[turn++ % manners.length] as Manner, reply, request)),
      onValue: (payload) => this.#told(payload.name, payload.value, (payload.readAt ?? 0) - 1_900_000_000_000),
    }
    this.#on = sharedLine(setup)
    this.#on.open()
  }

  get unanswered(): number {
    return this.#open
  }

  /** A unit begins no answer before the previous one has ended. */
  #inOrder(unitId: number, said: Utterance[]): Utterance[] {
    const [first, ...rest] = said
    if (!first) return []
    const nowMs = this.#on.clock.monotonicMs()
    const atMs = Math.max(nowMs + first.afterMs, this.#saidMs.get(unitId) ?? 0)
    this.#saidMs.set(unitId, atMs + 1)
    return [{ ...first, afterMs: atMs - nowMs }, ...rest]
  }

  #unit(unitId: number): SimulatedUnit {
    return {
      unitId,
      answer: (request) => {
        const { fc: code, address, quantity } = request
        const atMs = this.#on.clock.monotonicMs()
        return replyFrame(
          request,
          Array.from({ length: quantity }, (_, n) => wordAt(unitId, code, address + n, atMs)),
        )
      },
    }
  }

  #check(
    who: string,
    request: Pick<ModbusRequest, 'unitId' | 'fc' | 'address'>,
    values: readonly number[],
    span: [number, number],
  ) {
    for (const [n, value] of values.entries()) {
      const address = request.address + n
      const isInstant = address % 2 === 1
      const atMs = value * TICK_MS
      const isRight = isInstant
        ? atMs >= span[0] - TICK_MS && atMs <= span[1]
        : value === wordAt(request.unitId, request.fc, address, 0)
      if (isRight) continue
      const told = isInstant ? `of ${atMs} ms, expected ${span}` : `0x${value.toString(16)}`
      this.wrong ??= new Error(`${who}: unit ${request.unitId} fc ${request.fc} register ${address} got ${told}`)
    }
  }

  #told(name: string, value: unknown, readMs: number): void {
    const definition = this.#points.find((one) => one.name === name)
    if (!definition) throw new Error(`${name} is published, but is not a point`)
    if (typeof value !== 'number') return
    this.tally.points++
    const words = definition.type === 'u32' ? [value >>> 16, value & 0xffff] : [value]
    this.#check(`point ${name}`, definition, words, [readMs - 3000, readMs])
  }

  #rest({
    unitId,
    code,
    address,
    quantity,
  }: {
    unitId: number
    code: number
    address: number
    quantity: number
  }): void {
    const fromMs = this.#on.clock.monotonicMs()
    this.#open++
    act(this.#on.adapter, 'request', { unitId, fc: code, address, quantity })
      .then(
        (answer) => {
          this.tally.rest++
          const { values } = answer as { values: number[] }
          if (values.length !== quantity) throw new Error(`${values.length} values for ${quantity}`)
          this.#check('rest', { unitId, fc: code, address }, values, [fromMs, this.#on.clock.monotonicMs()])
        },
        () => void this.tally.faults++,
      )
      .then(
        () => void this.#open--,
        (error) => {
          this.wrong ??= error
        },
      )
  }

  wrong: Error | undefined

  #client(number: number) {
    const known = this.#clients.get(number)
    if (known) return known
    const waiting: { id: number; request: ModbusRequest; fromMs: number }[] = []
    let id = 7 * number
    const client = this.#on.connect((transactionId, body) => {
      const first = waiting.shift()
      if (!first || first.id !== transactionId)
        throw new Error(`client ${number} got ${transactionId} for ${first?.id}`)
      const { request } = first
      if (body[0] !== request.unitId || ((body[1] ?? 0) & 0x7f) !== request.fc) throw new Error('another function')
      if ((body[1] ?? 0) & 0x80) this.tally.faults++
      else {
        this.tally.tcp++
        if (body[2] !== 2 * request.quantity || body.length !== 3 + 2 * request.quantity)
          throw new Error('wrong length')
        const values = Array.from(
          { length: request.quantity },
          (_, n) => ((body[3 + 2 * n] ?? 0) << 8) | (body[4 + 2 * n] ?? 0),
        )
        this.#check('tcp', request, values, [first.fromMs, this.#on.clock.monotonicMs()])
      }
    })
    if (!client) return undefined
    const made = {
      leave: client.leave,
      ask: (request: ModbusRequest) => {
        const { unitId, fc: code, address, quantity } = request
        waiting.push({ id, request, fromMs: this.#on.clock.monotonicMs() })
        client.ask(id++, Uint8Array.of(unitId, code, address >> 8, address & 0xff, 0, quantity))
      },
    }
    this.#clients.set(number, made)
    return made
  }

  async step(one: Step): Promise<void> {
    switch (one.act) {
      case 'rest':
        return this.#rest(one.asked)
      case 'tcp': {
        const { unitId, code, address, quantity } = one.asked
        return this.#client(one.client)?.ask({ unitId, fc: code, address, quantity })
      }
      case 'leave':
        this.#clients.get(one.client)?.leave()
        return void this.#clients.delete(one.client)
      case 'points':
        this.#points = definitionsOf(one.table)
        return this.#on.adapter.faces?.points?.set(this.#points)
      case 'scan':
        try {
          requireFace({ path: '', adapter: this.#on.adapter }, 'scan').start({ from: 1, to: 5, fc: 3, address: 0 })
        } catch {
          // One runs already.
        }
        return
      case 'reopen':
        this.#clients.clear()
        await this.#on.close()
        await this.#on.clock.run(one.closedMs)
        return this.#on.open()
      default:
        this.#clients.clear()
        await this.#on.close()
        this.#points = definitionsOf(one.table)
        this.#on.renew(this.#points)
    }
  }

  run = async (ms: number): Promise<void> => {
    await this.#on.clock.run(ms)
    for (const view of this.#on.adapter.faces?.points?.list() ?? [])
      if (view.value !== null) this.#told(view.name, view.value, (view.readAt ?? 0) - 1_900_000_000_000)
  }

  /** The units answer as they should. @returns points that are still not good after the longest wait of a breaker */
  async heal(): Promise<string[]> {
    this.#isWell = true
    for (let n = 0; n < 16; n++) await this.run(5000)
    const views = this.#on.adapter.faces?.points?.list() ?? []
    const bad = views.filter(({ quality, ageMs, pollMs }) => quality !== 'good' || (ageMs ?? 1e9) > 2 * pollMs)
    return bad.map(({ name, quality, fault }) => `${name} is ${quality}, ${fault?.code}`)
  }

  async end(): Promise<number> {
    await this.#on.close()
    this.#on.adapter.end?.()
    await this.#on.clock.run(2000)
    return this.#on.clock.pending()
  }
}

t.test(
  'points, operators, TCP clients and a scan on one misbehaving line never get a wrong value',
  { timeout: 600_000 },
  async (t) => {
    const tally: Tally = { rest: 0, tcp: 0, points: 0, faults: 0 }
    const runs = Number(process.env.PROPERTY_RUNS ?? 50)
    const property = fc.asyncProperty(
      steps,
      table,
      fc.array(manner, { minLength: 20, maxLength: 20 }),
      promptOrNot,
      async (steps, places, manners, prompt) => {
        const trial = new Trial(manners, places, { prompt, tally })
        await trial.run(300)
        for (const [one, waitMs] of steps) {
          await trial.step(one)
          await trial.run(waitMs)
        }
        for (let n = 0; n < 20; n++) await trial.run(700)
        if (trial.wrong) throw trial.wrong
        if (trial.unanswered > 0) throw new Error(`${trial.unanswered} operators were never answered`)
        const sick = await trial.heal()
        if (sick.length > 0) throw new Error(`the line is well again, and these are not: ${sick}`)
        const pending = await trial.end()
        if (pending > 0) throw new Error(`${pending} timers are left`)
      },
    )
    // The suite tries the same lines each time; with PROPERTY_RUNS it draws others.
    await fc.assert(property, { numRuns: runs, ...(process.env.PROPERTY_RUNS === undefined && { seed: 41 }) })
    t.comment(JSON.stringify(tally))
    // Steps are random: about one answer a run for operators and clients each, sometimes fewer, sometimes more.
    const least = runs / 3
    t.ok(Math.min(tally.rest, tally.tcp, tally.points, tally.faults) > least, 'answers and faults were many enough')
  },
)
