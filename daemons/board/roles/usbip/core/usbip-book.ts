/** The settings of sharing as they are changed: checked, saved, applied, one change after the other. */
import { createTurn } from '#kit/turn.ts'
import type { UsbSharing } from './usb-sharing.ts'
import { changedSettings, type ParseAllow, type UsbipChange, type UsbipSettings } from './usbip-settings.ts'

/** What the book is made of. */
export interface BookParts {
  sharing: UsbSharing
  parseAllow: ParseAllow
  /** @throws Fault `store_write_failed` */
  save(settings: UsbipSettings): Promise<void>
}

/** How settings are changed. */
export interface UsbipBook {
  /**
   * Saves, then applies: what cannot be saved does not hold either.
   * @returns what is otherwise now
   * @throws Fault `bad_fields`, `store_write_failed`
   */
  change(change: UsbipChange): Promise<UsbipChange>
}

export function createUsbipBook({ sharing, parseAllow, save }: BookParts): UsbipBook {
  // A change starts from what the one before has left.
  const inTurn = createTurn()

  async function changeNow(change: UsbipChange): Promise<UsbipChange> {
    const before = sharing.settings
    const settings = changedSettings(before, change, parseAllow)
    const names = (Object.keys(settings) as (keyof UsbipSettings)[]).filter((name) => settings[name] !== before[name])
    if (names.length === 0) return {}
    await save(settings)
    await sharing.apply(settings)
    return Object.fromEntries(names.map((name) => [name, settings[name]]))
  }

  return {
    change: (change) => inTurn(() => changeNow(change)),
  }
}
