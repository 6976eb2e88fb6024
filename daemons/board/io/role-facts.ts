/** What this machine has of what roles need. */
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { LineFinder } from '#kit/line/line.ts'
import type { RoleFacts } from '../core/role-fitness.ts'

/** @param sysfs `/sys`, or a tree like it */
export async function readRoleFacts(finder: LineFinder, sysfs: string): Promise<RoleFacts> {
  const [lines, hasUsb, hasUsbipHost] = await Promise.all([
    finder.list(),
    isThere(join(sysfs, 'bus/usb/devices')),
    isThere(join(sysfs, 'bus/usb/drivers/usbip-host')),
  ])
  return { serialLines: lines.length, hasUsb, hasUsbipHost }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch {
    return false // not there, which is the answer
  }
}
