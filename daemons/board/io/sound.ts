/** Finds what this machine has for roles: GStreamer's clock, sound cards, serial lines, USB. */
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LineFinder } from '#kit/line/line.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type AudioClock, createAudioClock } from '#native/node-gst/index.ts'
import type { RoleFacts } from '../core/role.ts'
import { readSoundCards, type SoundCard } from '../wire/sound-cards.ts'

/** The addon's clock of sound, shared by all pipelines of a process. */
export type SharedClock = AudioClock

/**
 * Opens the clock of sound. Loads the libraries of GStreamer, which nothing did before.
 * @throws Fault `no_gstreamer` if they are missing
 */
export function openAudioClock(): SharedClock {
  try {
    return createAudioClock()
  } catch (cause) {
    const text =
      'This machine has no GStreamer, so it can neither send nor play sound: install its packages (docs/INSTALL.md).'
    throw new Fault('no_gstreamer', text, { cause })
  }
}

/**
 * The present sound cards of this machine.
 * @param folder `/proc/asound`, or one like it; if missing, because the kernel has no sound, there are none
 */
export async function listCards(folder = '/proc/asound'): Promise<SoundCard[]> {
  const [cards, pcm] = await Promise.all(['cards', 'pcm'].map((name) => textOf(join(folder, name))))
  return readSoundCards(cards ?? '', pcm ?? '')
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    return '' // no sound in this kernel: no cards
  }
}

/** Whether the sound threads run at real-time priority, for people. All three values as a pipeline reports them. */
export function realtimeView({ asked, granted, error }: { asked: number; granted: boolean; error: string | null }) {
  if (asked === 0) return { granted: false, text: 'Real-time priority is switched off in board.toml.' }
  if (granted) return { granted: true, text: `Sound runs with real-time priority ${asked}.` }
  if (error === null) return { granted: false, text: 'No thread of sound has begun yet.' }
  return {
    granted: false,
    text: `The system refuses real-time priority (${error}): a busy machine sends and plays late. LimitRTPRIO allows it.`,
  }
}

// Checks what roles need without loading any of it.

/** Debian's library folder for this processor. */
const LIBRARIES = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`
/** Libraries that sound needs: one file of each package. */
const OF_SOUND = [
  'libgstreamer-1.0.so.0',
  'libasound.so.2',
  'gstreamer-1.0/libgstaudioconvert.so',
  'gstreamer-1.0/libgstlevel.so',
]

/** Where to look. */
interface RolePlaces {
  /** `/sys`, or a tree like it. */
  sysfs: string
  /** Folder of the libraries; default: Debian's. */
  libraries?: string
  /** `/proc/asound`, or a folder like it. */
  asound?: string
}

/** Looks without loading anything, so that a serial server does not load sound libraries. */
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
