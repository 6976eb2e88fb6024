/** One session of a driver: opened and closed within bounds, with a context that falls silent when it ends. */
import { durationText } from '#kit/bytes/words.ts'
import { Fault } from '#kit/fault.ts'
import type { Driver, DriverContext, DriverSession } from './driver.ts'
import type { DriverWorld } from './driver-ports.ts'
import type { LiveKeeper, LiveTarget } from './live-book.ts'
import type { Json, Row } from './row.ts'
import { within } from './within.ts'

export interface SessionLimits {
  /** Deadline of opening a device. */
  openMs: number
  /** Deadline of closing one. */
  closeMs: number
}

export interface SessionParts {
  driver: Driver
  device: Row
  zones: readonly Row[]
  world: DriverWorld
  live: LiveKeeper
  limits: SessionLimits
}

/** What a driver says of its device while it is heard. */
export interface SessionHooks {
  online(): void
  lost(error: string): void
  /** The call of `open` has ended, in time or not. */
  settled(): void
}

/** A session as the lane holds it. */
export interface HeldSession extends Pick<DriverSession, 'execute' | 'poll'> {
  /** Resolves when it is closed, or has taken too long to. Never rejects. */
  close(): Promise<void>
}

/** Columns of a device that a driver gets by `secret` only. */
const SECRETS = ['password', 'api_key'] as const

/**
 * Opens a device. A session that comes too late, or after `stop`, is closed at once.
 * @throws Fault `driver_timeout`, the reason of `stop`, or what the driver threw
 */
export async function openSession(parts: SessionParts, stop: AbortSignal, hooks: SessionHooks): Promise<HeldSession> {
  const { driver, zones, world, limits } = parts
  const ground = world.open(parts.device)
  let isHeard = true
  const context = contextOf(parts, ground, hooks, () => isHeard && !stop.aborted)
  const end = () => {
    isHeard = false
    ground.close()
  }
  const opening = (async () => driver.open(publicRow(parts.device), zones, context))()
  opening.then(hooks.settled, hooks.settled)
  try {
    const late = () => new Fault('driver_timeout', `opening took longer than ${durationText(limits.openMs)}`)
    const session = await within(opening, { clock: world.clock, limitMs: limits.openMs, late, stop })
    return held(session, parts, () => (isHeard = false), end)
  } catch (error) {
    end()
    // Whatever comes of it: what is thrown here says why there is no session.
    opening.then(async (session) => session.close()).catch(() => {})
    throw error
  }
}

/** @param deafen ends what the driver can say; @param end its connections too */
function held(
  session: DriverSession,
  { world, limits }: SessionParts,
  deafen: () => void,
  end: () => void,
): HeldSession {
  return {
    execute: async (command, signal) => session.execute(command, signal),
    poll: session.poll && (async (signal) => session.poll?.(signal)),
    async close() {
      deafen()
      const late = () => new Fault('driver_timeout', `closing took longer than ${durationText(limits.closeMs)}`)
      // However it ends, its connections are cut behind it: nothing of it is left.
      const closing = (async () => session.close())()
      await within(closing, { clock: world.clock, limitMs: limits.closeMs, late }).catch(() => {})
      end()
    },
  }
}

/** A driver speaks of its own device and zones only, and only while its session lasts. */
function contextOf(
  { device, zones, world, live }: SessionParts,
  ground: Pick<DriverContext, 'log' | 'tcp'>,
  hooks: SessionHooks,
  isHeard: () => boolean,
): DriverContext {
  const own = new Set(zones.map(({ id }) => id))
  const isOwn = (target: LiveTarget) => ('zoneId' in target ? own.has(target.zoneId) : target.deviceId === device.id)
  return {
    clock: world.clock,
    chance: world.chance,
    log: ground.log,
    tcp: ground.tcp,
    report(target, patch) {
      if (!isHeard()) return
      const left = isOwn(target) ? live.report(target, patch) : Object.keys(patch).length
      if (left > 0) ground.log(`${left} values of a report were left out: too many, too large, or not of this device`)
    },
    online(isOnline, error) {
      if (!isHeard()) return
      if (isOnline) hooks.online()
      else hooks.lost(error ?? 'the device is gone')
    },
    secret(column) {
      const value: Json | undefined = SECRETS.includes(column) ? device[column] : null
      return typeof value === 'string' ? value : null
    },
  }
}

function publicRow(device: Row): Row {
  return { ...device, ...Object.fromEntries(SECRETS.filter((name) => name in device).map((name) => [name, null])) }
}
