/** What this machine has of what roles need. */
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { LineFinder } from '#kit/line/line.ts'
import type { RoleFacts } from '../core/role-fitness.ts'
import { listCards } from './sound/cards.ts'

/** Where Debian has the libraries of this processor. */
const LIBRARIES = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`
/** What sound needs of them: one file of each package. */
const OF_SOUND = [
  'libgstreamer-1.0.so.0',
  'libasound.so.2',
  'gstreamer-1.0/libgstaudioconvert.so',
  'gstreamer-1.0/libgstlevel.so',
]

/** Where a machine is looked at. */
export interface RolePlaces {
  /** `/sys`, or a tree like it. */
  sysfs: string
  /** Folder of the libraries; Debian's unless told. */
  libraries?: string
  /** `/proc/asound`, or a folder like it. */
  asound?: string
}

/** Looks without loading anything: a serial server stays free of sound. */
export async function readRoleFacts(finder: LineFinder, { sysfs, libraries, asound }: RolePlaces): Promise<RoleFacts> {
  const [lines, cards, hasUsb, hasUsbipHost, ...ofSound] = await Promise.all([
    finder.list(),
    listCards(asound),
    isThere(join(sysfs, 'bus/usb/devices')),
    isThere(join(sysfs, 'bus/usb/drivers/usbip-host')),
    ...OF_SOUND.map((file) => isThere(join(libraries ?? LIBRARIES, file))),
  ])
  return {
    serialLines: lines.length,
    hasUsb,
    hasUsbipHost,
    hasSound: ofSound.every(Boolean),
    playing: cards.filter(({ plays }) => plays).length,
    recording: cards.filter(({ captures }) => captures).length,
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch {
    return false // not there, which is the answer
  }
}
