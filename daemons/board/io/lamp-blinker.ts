/** The lamp of a board: the first that is there for telling boards apart, else one that tells of activity. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Blinker } from '../core/machine-ports.ts'
import type { RootHelper } from '../core/ports.ts'

/** How the lamp is driven. */
export interface LampOptions {
  /** Lamps belong to root. */
  helper: RootHelper
  /** Name below /sys/class/leds; empty: the one that suits best. */
  name: string
  folder?: string
}

/** Best first. */
const SUITABLE = [/identify|locate|uid/i, /status|heartbeat|user/i, /^act$|led0|activity|sys/i]

/** Lamps that follow a key, a port or a card. */
const FOREIGN = /(caps|num|scroll)lock|kana|compose|mute|backlight|^(eth|wlan|mmc|phy|input)\d/i

/** What the kernel blinks a lamp by, best first. */
const BLINKING = ['timer', 'heartbeat', 'pattern']

/** A lamp as it was before it blinked. */
interface Lamp {
  name: string
  trigger: string
  brightness: string
}

/** @source linux/Documentation/leds/leds-class.rst */
export function createLampBlinker({ helper, name, folder = '/sys/class/leds' }: LampOptions): Blinker {
  let lamp: Lamp | undefined
  const read = async (lamp: string, file: string) => (await readFile(join(folder, lamp, file), 'utf8')).trim()

  async function find(): Promise<string | undefined> {
    const names = await readdir(folder).catch((): string[] => [])
    if (name !== '') return names.find((one) => one === name)
    const own = names.filter((one) => !FOREIGN.test(one)).sort()
    return SUITABLE.map((kind) => own.find((one) => kind.test(one))).find((one) => one !== undefined)
  }

  return {
    async start() {
      const found = await find()
      if (found === undefined) return false
      // All there are, the present one in brackets.
      const triggers = (await read(found, 'trigger')).split(/\s+/)
      const present = triggers.find((one) => one.startsWith('['))?.slice(1, -1) ?? 'none'
      const blinking = BLINKING.find((one) => triggers.includes(one))
      if (blinking === undefined) return false
      const brightness = await read(found, 'brightness')
      await helper.ask('lamp', [found, blinking, '0'])
      lamp = { name: found, trigger: present, brightness }
      return true
    },
    async stop() {
      const was = lamp
      lamp = undefined
      if (was) await helper.ask('lamp', [was.name, was.trigger, was.brightness])
    },
  }
}

/** Of a machine that is somebody else's: its lamps are left alone. */
export const noLamp: Blinker = {
  start: async () => false,
  stop: async () => {},
}
