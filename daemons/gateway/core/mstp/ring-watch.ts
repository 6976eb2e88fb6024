/** Who has left a ring and who is back, judged with patience, and whether there is anybody else on the line at all. */
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { UnitPayload, UnitStatesFace } from '../bus/units.ts'
import type { RingNode } from './ring.ts'

/**
 * - `unknown` heard too little to be sure that it is no damaged frame with a good checksum
 * - `well` it is in the ring
 * - `silent` it was, and was not heard for `node_gone_ms`
 */
export type RingNodeState = 'unknown' | 'well' | 'silent'

/** `joined` a master was heard in several looks; `left` it was not heard for too long */
export type RingNodeEvent = 'joined' | 'left'

/** Slaves speak when they are asked: of them silence says nothing. */
export const mstpRingNodeTable: Readonly<Record<RingNodeState, Partial<Record<RingNodeEvent, RingNodeState>>>> = {
  unknown: { joined: 'well' },
  well: { left: 'silent' },
  silent: { joined: 'well' },
}

/** In so many looks a node was heard anew: one frame alone may be noise. */
const JOIN_LOOKS = 3
/** A look counts for so long at most: while the program stood still nobody was listened to. */
const LONGEST_LOOK_MS = 1000
/** How many nodes a sentence names. */
const MOST_NAMED = 8

interface RingWatchParts {
  /** Our own address; null of a listener. */
  own: number | null
  goneMs: number
  /** A node has joined, or left. */
  onNode(payload: UnitPayload): void
  /** Nobody else is heard; undefined: somebody is. */
  onAlone(fault: Fault | undefined): void
}

interface Member {
  state: RingNodeState
  isMaster: boolean
  /** Its frames at the last look. */
  frames: number
  /** Looks in which it was heard, since it was silent. */
  looks: number
  silentMs: number
  /** It is silent, and was told of only together with all others. */
  isUntold: boolean
  isForgotten: boolean
}

/** The nodes of one line while it is open; at most one entry for each address. */
export class RingWatch implements UnitStatesFace {
  readonly #parts: RingWatchParts
  readonly #members = new Map<number, Member>()
  #lastMs: number | undefined
  #watchedMs = 0
  #alone: Fault | undefined

  constructor(parts: RingWatchParts) {
    this.#parts = parts
  }

  /** Why the line is as good as not connected; undefined while somebody else is heard. */
  get alone(): Fault | undefined {
    return this.#alone
  }

  /** The line is closed or lost: nothing is known any more. */
  reset(): void {
    this.#members.clear()
    this.#lastMs = undefined
    this.#watchedMs = 0
    this.#alone = undefined
  }

  /** A look at the map of the ring, several times a second. @param nowMs by the monotonic clock */
  look(nodes: readonly RingNode[], nowMs: number): void {
    const stepMs = Math.min(LONGEST_LOOK_MS, nowMs - (this.#lastMs ?? nowMs))
    this.#lastMs = nowMs
    this.#watchedMs += stepMs
    for (const node of nodes) if (node.mac !== this.#parts.own) this.#hear(node, stepMs)
    this.#judgeAlone()
    this.#judgeNodes()
  }

  /** The nodes that were in the ring at any time. */
  list(): { unitId: number; state: 'well' | 'silent' }[] {
    return [...this.#members]
      .flatMap(([unitId, { state }]) => (state === 'unknown' ? [] : [{ unitId, state }]))
      .sort((one, other) => one.unitId - other.unitId)
  }

  states(): Partial<Record<'well' | 'silent', number>> {
    const counts: Partial<Record<'well' | 'silent', number>> = {}
    for (const { state } of this.list()) counts[state] = (counts[state] ?? 0) + 1
    return counts
  }

  /** @throws Fault `unknown_unit` if there is no such node, or it is heard */
  forget(unitId: number): void {
    const member = this.#members.get(unitId)
    if (member?.state !== 'silent')
      throw new Fault('unknown_unit', `No node ${unitId} is missing in this ring, so there is nothing to forget.`)
    Object.assign(member, { state: 'unknown', looks: 0, isForgotten: true } satisfies Partial<Member>)
  }

  /** It was forgotten, and has not been heard since. */
  isForgotten(mac: number): boolean {
    return this.#members.get(mac)?.isForgotten === true
  }

  #hear({ frames, isMaster, mac }: RingNode, stepMs: number): void {
    const member = this.#members.get(mac) ?? newMember()
    this.#members.set(mac, member)
    member.isMaster ||= isMaster
    if (member.frames === frames) member.silentMs += stepMs
    else {
      Object.assign(member, { frames, silentMs: 0, looks: member.looks + 1, isForgotten: false })
    }
  }

  /** How long nobody was heard, slaves too; undefined if there never was anybody. */
  #quietMs(): number | undefined {
    if (this.#members.size === 0) return undefined
    return Math.min(...[...this.#members.values()].map(({ silentMs }) => silentMs))
  }

  #judgeAlone(): void {
    const { goneMs, onAlone } = this.#parts
    const quietMs = this.#quietMs()
    const hasLost = this.list().length > 0
    const isAlone = quietMs === undefined ? this.#watchedMs >= goneMs : hasLost && quietMs >= goneMs
    if (isAlone && !this.#alone) {
      this.#alone = quietMs === undefined ? nobodyEver() : nobodyAnyMore(this.list().map(({ unitId }) => unitId))
      onAlone(this.#alone)
    } else if (!isAlone && this.#alone && this.#isSomebodyBack()) {
      this.#alone = undefined
      onAlone(undefined)
      for (const member of this.#members.values())
        if (member.state === 'silent') Object.assign(member, { silentMs: 0, isUntold: true })
    }
  }

  #isSomebodyBack(): boolean {
    return [...this.#members.values()].some(({ looks, silentMs }) => looks >= JOIN_LOOKS && silentMs === 0)
  }

  #judgeNodes(): void {
    const { goneMs } = this.#parts
    // Where nobody is heard any more it is the line, which is told in a moment; each node by itself is then no news.
    const isSuspended = !this.#alone && (this.#quietMs() ?? 0) > goneMs / 2
    for (const [mac, member] of this.#members) {
      const isGone = member.silentMs >= goneMs
      if (isGone && member.state !== 'well') member.looks = 0
      if (member.isMaster && member.looks >= JOIN_LOOKS && !isGone) this.#move(mac, member, 'joined')
      if (!isGone || isSuspended) continue
      if (member.isUntold) this.#tell(mac, member, 'silent')
      this.#move(mac, member, 'left')
    }
  }

  #move(mac: number, member: Member, event: RingNodeEvent): void {
    const previous = member.state
    const next = mstpRingNodeTable[previous][event]
    if (next === undefined) return
    member.state = next
    if (next === 'silent') member.looks = 0
    this.#tell(mac, member, previous)
  }

  #tell(mac: number, member: Member, previous: RingNodeState): void {
    member.isUntold = false
    this.#parts.onNode({ unitId: mac, state: member.state, previous, message: this.#sentence(mac, member, previous) })
  }

  #sentence(mac: number, { state }: Member, previous: RingNodeState): string {
    if (state !== 'silent') return `Node ${mac} is ${previous === 'silent' ? 'back ' : ''}in the ring.`
    const forText = durationText(this.#parts.goneMs)
    return `Node ${mac} has left the ring: it was not heard for ${forText}. Look at its power and its wiring.`
  }
}

function newMember(): Member {
  return {
    ...{ state: 'unknown', isMaster: false, frames: 0, looks: 0, silentMs: 0 },
    ...{ isUntold: false, isForgotten: false },
  }
}

function nobodyEver(): Fault {
  const sentence =
    'Nobody else has been heard on this line: check the wiring, the baud rate, and the polarity (A and B swapped).'
  return new Fault('mstp_alone', sentence)
}

function nobodyAnyMore(macs: readonly number[]): Fault {
  const more = macs.length - MOST_NAMED
  const names = macs.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '')
  const who = macs.length === 1 ? `node ${names} is gone` : `nodes ${names} are gone`
  const sentence = `Nobody else is heard any more: ${who}. Check the cable between this gateway and the ring, and their power.`
  return new Fault('mstp_alone', sentence)
}
