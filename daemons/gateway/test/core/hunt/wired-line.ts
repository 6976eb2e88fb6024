/** A line with a wire: bits are sampled as a UART does, so that a wrong rate or parity gives what it gives in a plant. */
import type { Clock } from '#kit/clock.ts'
import type { ControlledLine, ControlledLineOpener, DriverCounts, LineSettings } from '#kit/line/line.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { HuntSetting } from '../../../core/hunt/hunted.ts'

/** What a UART makes of the bits of a wire: bytes, also of wrong ones, and how many were wrong. */
interface Sampled {
  bytes: Uint8Array
  frame: number
  parity: number
}

/** The levels of the wire, one for each bit. */
function levelsOf(bytes: Uint8Array, { parity, stop_bits: stopBits }: HuntSetting): number[] {
  return [...bytes].flatMap((byte) => {
    const data = Array.from({ length: 8 }, (_, bit) => (byte >> bit) & 1)
    const check = parity === 'none' ? [] : [parityOf(data, parity)]
    return [0, ...data, ...check, ...Array.from({ length: stopBits }, () => 1)]
  })
}

function parityOf(data: readonly number[], parity: LineSettings['parity']): number {
  const ones = data.reduce((sum, bit) => sum + bit, 0) & 1
  return parity === 'even' ? ones : 1 - ones
}

/** Samples in the middle of each bit. A stop bit that is low is taken for the next start bit, as a 16550 does. */
export function overWire(bytes: Uint8Array, sender: HuntSetting, receiver: HuntSetting): Sampled {
  const levels = levelsOf(bytes, sender)
  const level = (bits: number) => levels[Math.floor((bits * sender.baud) / receiver.baud)] ?? 1
  const end = (levels.length * receiver.baud) / sender.baud
  const heard: number[] = []
  const wrong = { frame: 0, parity: 0 }
  for (let at = 0; at < end; ) {
    if (level(at) === 1 || level(at + 0.5) === 1) {
      at += 1 / 16
      continue
    }
    const data = Array.from({ length: 8 }, (_, bit) => level(at + 1.5 + bit))
    const withParity = receiver.parity !== 'none'
    if (withParity && level(at + 9.5) !== parityOf(data, receiver.parity)) wrong.parity++
    const stop = at + (withParity ? 10 : 9)
    const isStopped = level(stop + 0.5) === 1
    if (!isStopped) wrong.frame++
    heard.push(data.reduce((byte, bit, place) => byte | (bit << place), 0))
    at = isStopped ? stop + 0.5 : stop
  }
  return { bytes: Uint8Array.from(heard), ...wrong }
}

/** One who hears whole bytes of whoever sends at its setting, and answers. */
type Listener = (bytes: Uint8Array) => void

interface WiredLineParts {
  clock: Clock
  /** The setting of the devices. */
  wire: HuntSetting
  /** Whether the driver counts errors. */
  counts?: boolean
  /** Rates that the driver refuses. */
  refuses?: readonly number[]
  /** How its closing fails. */
  closeFault?: Fault
}

export interface WiredLine extends ControlledLineOpener {
  /** A device sends. */
  talk(bytes: Uint8Array): void
  /** Another sends, at a setting of its own. */
  talkAt(setting: HuntSetting, bytes: Uint8Array): void
  onAsked(listener: Listener): void
  vanish(): void
  readonly sent: Uint8Array[]
  readonly isOpen: boolean
  readonly opened: number
}

export function wiredLine({ clock, closeFault, counts = true, refuses = [], wire }: WiredLineParts): WiredLine {
  const sent: Uint8Array[] = []
  const driver: DriverCounts = { rx: 0, tx: 0, frame: 0, overrun: 0, parity: 0, brk: 0, buf_overrun: 0 }
  let own: HuntSetting = wire
  let isOpen = false
  let opened = 0
  let onBytes: (bytes: Uint8Array, atUs: number) => void = () => {}
  let onGone: (fault: Fault) => void = () => {}
  let asked: Listener = () => {}

  function arrive(setting: HuntSetting, bytes: Uint8Array): void {
    if (!isOpen) return
    const heard = overWire(bytes, setting, own)
    driver.frame += heard.frame
    driver.parity += heard.parity
    onBytes(heard.bytes, clock.monotonicMs() * 1000)
  }

  const line = {
    unsupported: [],
    async write(bytes: Uint8Array) {
      sent.push(bytes)
      const heard = overWire(bytes, own, wire)
      if (heard.frame + heard.parity === 0) asked(heard.bytes)
    },
    flush: async () => {},
    onBytes(handler: typeof onBytes) {
      onBytes = handler
    },
    onGone(handler: typeof onGone) {
      onGone = handler
    },
    driverCounts: () => (counts ? { ...driver } : null),
    async update(settings: LineSettings) {
      if (refuses.includes(settings.baud))
        throw new Fault('line_refused', `The driver did not keep baud: wanted ${settings.baud}.`)
      own = settings
    },
    async close() {
      isOpen = false
      if (closeFault) throw closeFault
    },
  } as unknown as ControlledLine

  return {
    sent,
    talk: (bytes) => arrive(wire, bytes),
    talkAt: arrive,
    onAsked(listener) {
      asked = listener
    },
    vanish: () => onGone(new Fault('line_gone', 'the device is gone')),
    async open() {
      isOpen = true
      opened++
      return line
    },
    get isOpen() {
      return isOpen
    },
    get opened() {
      return opened
    },
  }
}
