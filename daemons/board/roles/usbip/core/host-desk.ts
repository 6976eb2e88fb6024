/**
 * Answers USB/IP hosts: which may connect, which devices they can list, and whether they get one. A host that was sent
 * away is held off for a while.
 */
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { createLogGate } from '#kit/pure/pace.ts'
import type { AllowList, HostDesk, OpOutcome } from './ports.ts'
import type { Guest, Share } from './share.ts'

// Hosts that were sent away, held off for a while: many clients would reconnect at once.

/** More than anybody detaches by hand within a minute; beyond it the oldest is forgotten. */
const MOST_HOSTS = 64

/** The hosts being held off. */
export interface HoldOff {
  hold(address: string): void
  isHeld(address: string): boolean
  /** Epoch ms at which the last of them may return; null if none is held off. */
  untilAt(): number | null
}

/** @param holdMs how long; 0 holds none off */
export function createHoldOff(clock: Clock, holdMs: number): HoldOff {
  const untilMs = new Map<string, number>()

  function forgetOld(): void {
    for (const [address, until] of untilMs) if (until <= clock.monotonicMs()) untilMs.delete(address)
  }

  return {
    hold(address) {
      forgetOld()
      untilMs.delete(address)
      untilMs.set(address, clock.monotonicMs() + holdMs)
      for (const oldest of untilMs.keys()) {
        if (untilMs.size <= MOST_HOSTS) break
        untilMs.delete(oldest)
      }
    },
    isHeld(address) {
      forgetOld()
      return untilMs.has(address)
    },
    untilAt() {
      forgetOld()
      const last = Math.max(...untilMs.values())
      return untilMs.size === 0 ? null : Math.ceil(clock.epochMs() + last - clock.monotonicMs())
    },
  }
}

// The desk.

/** Counts since the start. */
export interface SharingCounts {
  /** Connections by how their first phase ended. */
  outcomes: Partial<Record<OpOutcome, number>>
  /** Bytes of hosts that have left; those of present hosts are added elsewhere. */
  inBytes: number
  outBytes: number
}

/** Refused hosts are logged at once, and then as a count, at most once in this time. */
const LOG_MS = 60_000

/** Dependencies. */
interface DeskWorld {
  clock: Clock
  log: Log
  allow(): AllowList
  holdOff: HoldOff
  share(busId: string): Share | undefined
  shares(): readonly Share[]
}

export function createHostDesk(
  world: DeskWorld,
): HostDesk & { counts: SharingCounts; guestLeft(guest: Guest): void; close(): void } {
  const counts: SharingCounts = { outcomes: {}, inBytes: 0, outBytes: 0 }
  const turnedAway = createLogGate(world.clock, LOG_MS, (times, facts) =>
    world.log.notice('usbip hosts turned away', { times, ...facts }),
  )
  const isAllowed = (address: string) => world.allow().allows(address)
  return {
    counts,
    admits: isAllowed,
    list: () =>
      world
        .shares()
        .filter(({ state }) => state === 'exported')
        .map(({ device: { record, interfaces } }) => ({ device: record, interfaces })),
    async take(busId, link) {
      const share = world.share(busId)
      if (!share) return { status: 'no_device' }
      // It was admitted when it connected, but the allow list may have changed since.
      if (!isAllowed(link.address) || world.holdOff.isHeld(link.address)) return { status: 'not_available' }
      const { record } = share.device
      const status = await share.take(link)
      if (status !== 'ok') return { status }
      world.log.notice('usb device attached', { device: busId, host: link.address })
      // Checked again, since the list may have changed while the kernel took the device. The answer is lost with the
      // link.
      if (!isAllowed(link.address)) share.sendAway()
      return { status, device: record }
    },
    ended(outcome, address) {
      counts.outcomes[outcome] = (counts.outcomes[outcome] ?? 0) + 1
      if (outcome === 'listed' || outcome === 'imported') world.log.debug('usbip host', { outcome, host: address })
      else turnedAway.note({ outcome, host: address })
    },
    close: () => turnedAway.close(),
    guestLeft({ link }) {
      const { receivedBytes, ackedBytes } = link.counts()
      counts.inBytes += receivedBytes
      counts.outBytes += ackedBytes
      world.log.notice('usb device free again', { host: link.address, inBytes: receivedBytes, outBytes: ackedBytes })
    },
  }
}
