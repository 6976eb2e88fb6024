/**
 * The trial of a board's new system: it has to show within a time that it is good, and else the old one starts again.
 * Rules alone; `plantroom slot confirm` gives them the machine.
 */
import type { Clock } from '#kit/clock.ts'
import { durationText, plainText } from '#kit/pure/text.ts'
import type { UpdateOutcome } from '#kit/release/running-image.ts'

/** One of the two systems on a card. */
export type SlotName = 'A' | 'B'

/** What the boot loader knows of a slot. */
interface SlotState {
  /** Whether a whole system is in it, which has not failed its trial. */
  isWhole: boolean
  /** Starts that it still has before it must have shown that it is good, 0..3. */
  startsLeft: number
}

/** What the boot loader knows. */
export interface BootState {
  /** Which slot starts first, if it can. */
  first: SlotName
  slots: Record<SlotName, SlotState>
}

/** The other of the two. */
export const otherSlot = (slot: SlotName): SlotName => (slot === 'A' ? 'B' : 'A')

/**
 * Reads what `boot-state show` prints.
 * @returns undefined if it is not that
 * @source firmware-images/grub.cfg, the names in grubenv
 */
export function readBootState(text: string): BootState | undefined {
  const named = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1]
  const first = /^([AB]) [AB]$/.exec(named('ORDER') ?? '')?.[1]
  const stateOf = (slot: SlotName): SlotState => ({
    isWhole: named(`${slot}_OK`) === '1',
    startsLeft: Number(named(`${slot}_LEFT`) ?? 0),
  })
  if (first !== 'A' && first !== 'B') return undefined
  return { first, slots: { A: stateOf('A'), B: stateOf('B') } }
}

/** Whether the boot loader would start it. */
export function isStartable({ slots }: BootState, slot: SlotName): boolean {
  return slots[slot].isWhole && slots[slot].startsLeft > 0
}

/** The slot of the next start; the running one if the boot loader has nothing better. */
export function nextSlot(state: BootState, running: SlotName): SlotName {
  return [state.first, otherSlot(state.first)].find((slot) => isStartable(state, slot)) ?? running
}

/** How long things may take. */
export interface TrialTimes {
  /** How long everything has to be well without a break, ms. */
  goodMs: number
  /** Time to get well, from the start of the check, ms: a fault after it is the end. */
  withinMs: number
  /** Between two looks, ms. */
  lookMs: number
}

/** What a trial asks of the machine. */
export interface TrialWorld {
  clock: Clock
  running: SlotName
  /** Version of the image that runs. */
  version: string
  bootState(): Promise<BootState>
  /** Version of what is in a slot; null if it is not known. */
  versionIn(slot: SlotName): Promise<string | null>
  /** What is not well, a sentence each; none if all is. */
  faults(): Promise<string[]>
  /** Marks the running slot good; the other one bad, if it has no start left. */
  confirm(): Promise<void>
  /** What was kept last; null if nothing was. */
  outcome(): Promise<UpdateOutcome | null>
  keep(outcome: UpdateOutcome): Promise<void>
  restart(): Promise<void>
  /** Resolves after so many milliseconds of the clock. */
  pause(ms: number): Promise<void>
  say(line: string): void
}

/**
 * Judges the running system once.
 * @returns true if it is good and marked so; false if the machine restarts into the other system
 */
export async function runTrial(world: TrialWorld, times: TrialTimes): Promise<boolean> {
  const { clock, running, version } = world
  const before = await world.bootState()
  const other = otherSlot(running)
  await tellFallBack(world, before)
  const mayGo = before.slots[running].startsLeft === 0 && isStartable(before, other)
  if (mayGo) await keep(world, { result: 'on_trial', version, runs: version, why: null, at: clock.epochMs() })

  const beganMs = clock.monotonicMs()
  let goodSinceMs: number | undefined
  let said = ''
  for (;;) {
    // What cannot be looked at is not well: a system whose own programs fail is not to stay for that.
    const faults = await world.faults().catch((cause) => [`its daemons cannot be looked at: ${reasonOf(cause)}`])
    const nowMs = clock.monotonicMs()
    if (faults.length === 0) goodSinceMs ??= nowMs
    else goodSinceMs = undefined
    if (goodSinceMs !== undefined && nowMs - goodSinceMs >= times.goodMs) break
    const saying = faults.join('; ') || 'everything is well'
    if (saying !== said) world.say(saying)
    said = saying
    // A system that was good before, or that nothing could replace, is never given up: somebody may be mending it. Nor is
    // one that got well late: it has its minute, and fails with the next fault.
    if (mayGo && goodSinceMs === undefined && nowMs - beganMs >= times.withinMs) {
      const why = `it was not well within ${durationText(times.withinMs)}: ${said}`
      await keep(world, { result: 'on_trial', version, runs: version, why, at: clock.epochMs() })
      world.say(`slot ${running} (${version}) has failed, the board restarts with slot ${other}: ${why}`)
      await world.restart()
      return false
    }
    await world.pause(times.lookMs)
  }
  await world.confirm()
  world.say(`slot ${running} (${version}) is good`)
  if (mayGo) await keep(world, { result: 'good', version, runs: version, why: null, at: clock.epochMs() })
  return true
}

/** If the boot loader wanted to start the other system, and has given it up. */
async function tellFallBack(world: TrialWorld, state: BootState): Promise<void> {
  const { running, version, clock } = world
  const other = otherSlot(running)
  const { isWhole, startsLeft } = state.slots[other]
  if (state.first !== other || !isWhole || startsLeft > 0) return
  const last = await world.outcome()
  // What RAUC knows of a slot may not be told on a busy board; whoever was on trial wrote down who it was.
  const onTrial = last?.result === 'on_trial' ? last : undefined
  const tried = onTrial ? onTrial.version : await world.versionIn(other)
  const why = onTrial?.why ?? 'it did not start, or not as far as its health check'
  world.say(`slot ${other} (${tried ?? 'version not known'}) was tried and has failed: ${why}`)
  await keep(world, { result: 'fell_back', version: tried, runs: version, why, at: clock.epochMs() })
}

/** Which system runs does not depend on it: a full disk decides nothing here. */
async function keep(world: TrialWorld, outcome: UpdateOutcome): Promise<void> {
  await world.keep(outcome).catch((cause) => world.say(`what came of the update is not kept: ${reasonOf(cause)}`))
}

function reasonOf(cause: unknown): string {
  return plainText((cause as Error).message, 500)
}
