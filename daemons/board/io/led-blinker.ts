/** The lamp of a board: the first that is there for telling boards apart, else one that tells of activity. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Blinker } from '../core/machine-ports.ts'

/** How the lamp is driven. */
export interface LedOptions {
  clock: Clock
  /** Half a period. */
  blinkMs: number
  /** Name below /sys/class/leds; empty: the one that suits best. */
  name: string
  folder?: string
}

/** Best first; keyboards, networks and disks have lamps too, which belong to others. */
const SUITABLE = [/identify|locate|uid/i, /status|heartbeat|user/i, /^act$|led0|activity|sys/i]

/** Lamps that follow a key, a port or a card. */
const FOREIGN = /(caps|num|scroll)lock|kana|compose|mute|backlight|^(eth|wlan|mmc|phy|input)\d/i

/** @source linux/Documentation/leds/leds-class.rst */
export function createLedBlinker({ clock, blinkMs, name, folder = '/sys/class/leds' }: LedOptions): Blinker {
  let lamp: { path: string; trigger: string; brightness: string } | undefined
  let timer: Timer | undefined
  let isLit = false

  async function find(): Promise<string | undefined> {
    const names = await readdir(folder).catch((): string[] => [])
    if (name !== '') return names.find((one) => one === name)
    const own = names.filter((one) => !FOREIGN.test(one)).sort()
    return SUITABLE.map((kind) => own.find((one) => kind.test(one))).find((one) => one !== undefined)
  }

  /** Where a lamp is taken away meanwhile, there is nothing left to blink. */
  function toggle(path: string): void {
    isLit = !isLit
    void writeFile(join(path, 'brightness'), isLit ? '255' : '0').catch(() => timer?.cancel())
  }

  return {
    async start() {
      const found = await find()
      if (found === undefined) return false
      const path = join(folder, found)
      const trigger = /\[([^\]]+)\]/.exec(await readFile(join(path, 'trigger'), 'utf8').catch(() => ''))?.[1] ?? ''
      const brightness = (await readFile(join(path, 'brightness'), 'utf8')).trim()
      // What drives the lamp otherwise would fight for it.
      if (trigger !== '' && trigger !== 'none') await writeFile(join(path, 'trigger'), 'none')
      lamp = { path, trigger, brightness }
      toggle(path)
      timer = clock.every(blinkMs, () => toggle(path))
      return true
    },
    async stop() {
      timer?.cancel()
      const was = lamp
      lamp = undefined
      isLit = false
      if (!was) return
      await writeFile(join(was.path, 'brightness'), was.brightness)
      if (was.trigger !== '' && was.trigger !== 'none') await writeFile(join(was.path, 'trigger'), was.trigger)
    },
  }
}
