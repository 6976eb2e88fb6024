/** Finds the serial lines of this machine: from the kernel's sysfs, with details from udev. */
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { PlantroomBinding } from '#native/serial/index.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { FoundLine, LineFinder } from './line.ts'

/** What udev knows of one line. */
interface UdevLine {
  path: string
  manufacturer?: string | undefined
  serialNumber?: string | undefined
  vendorId?: string | undefined
  productId?: string | undefined
}

/** Where to look; all but the log have defaults. */
export interface LineFinderOptions {
  log: Log
  clock?: Clock
  /** Longest wait for udev in milliseconds; after that only sysfs is used. */
  udevMs?: number
  /** Lists lines by udev; default: serialport's own, which runs udevadm. */
  udev?: () => Promise<UdevLine[]>
  sys?: string
  dev?: string
}

/**
 * @returns a finder that also works without udev (a container has none). It asks udev again only when lines came or
 * went, since that walks the whole machine.
 */
export function createLineFinder(options: LineFinderOptions): LineFinder {
  const { log, clock = systemClock, udevMs = 3000, sys = '/sys/class/tty', dev = '/dev' } = options
  const udev = options.udev ?? (() => PlantroomBinding.list())
  let known: UdevLine[] = []
  let knownFor: string | undefined
  let pending: Promise<void> | undefined

  async function ask(seen: string): Promise<void> {
    try {
      known = await udev()
      knownFor = seen
    } catch (error) {
      known = []
      knownFor = seen
      log.info('udev lists no lines', { reason: error instanceof Error ? error.message : String(error) })
    }
  }

  /** Waits for udev, but no longer than `udevMs`; a late answer serves the next call. */
  async function refresh(seen: string): Promise<void> {
    if (knownFor === seen) return
    pending ??= ask(seen).finally(() => {
      pending = undefined
    })
    await new Promise<void>((resolve) => {
      const timer = clock.after(udevMs, resolve)
      void pending?.then(() => {
        timer.cancel()
        resolve()
      })
    })
  }

  return {
    async list() {
      const links = stableNames(dev)
      const lines = await kernelLines(sys, dev)
      await refresh(JSON.stringify([lines.map((line) => line.path), [...links]]))
      return lines.map((line) => merged(line, links.get(line.path) ?? null, known))
    },
  }
}

function merged(line: FoundLine, byId: string | null, known: UdevLine[]): FoundLine {
  const udev = known.find((entry) => entry.path === line.path)
  return {
    path: line.path,
    byId,
    maker: line.maker ?? udev?.manufacturer ?? null,
    product: line.product,
    serialNumber: line.serialNumber ?? udev?.serialNumber ?? null,
    vendorId: line.vendorId ?? udev?.vendorId ?? null,
    productId: line.productId ?? udev?.productId ?? null,
  }
}

/**
 * Terminals with a driver behind them, in natural order of their names. Names and links are read synchronously, which
 * never blocks: on a thread, each step took milliseconds while passwords were hashed. Files that a driver or a USB
 * device answers may block, so they are read asynchronously.
 */
async function kernelLines(sys: string, dev: string): Promise<FoundLine[]> {
  const names = namesIn(sys)
  const found = await Promise.all(names.map((name) => kernelLine(join(sys, name), join(dev, name))))
  return found.filter((line) => line !== null).sort((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true }))
}

async function kernelLine(folder: string, path: string): Promise<FoundLine | null> {
  // Consoles and ptys have no device.
  const device = targetOf(join(folder, 'device'))
  if (device === null) return null
  // The 8250 driver creates up to 32 ports and gives those without a chip type 0.
  if ((await textOf(join(folder, 'type'))) === '0') return null
  const usb = usbDeviceOf(device)
  const fact = (name: string) => (usb === null ? Promise.resolve(null) : textOf(join(usb, name)))
  const [maker, product, serialNumber, vendorId, productId] = await Promise.all(
    ['manufacturer', 'product', 'serial', 'idVendor', 'idProduct'].map(fact),
  )
  return {
    path,
    byId: null,
    maker: maker ?? null,
    product: product ?? null,
    serialNumber: serialNumber ?? null,
    vendorId: vendorId ?? null,
    productId: productId ?? null,
  }
}

/** The USB device of a terminal: the nearest folder above with an idVendor. */
function usbDeviceOf(device: string): string | null {
  for (let folder = device, depth = 0; depth < 5 && folder !== '/'; folder = dirname(folder), depth++) {
    if (existsSync(join(folder, 'idVendor'))) return folder
  }
  return null
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function targetOf(link: string): string | null {
  try {
    return realpathSync.native(link)
  } catch {
    return null
  }
}

async function textOf(file: string): Promise<string | null> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text.trim() === '' ? null : text.trim()
}

/** Device path to its name below /dev/serial/by-id. */
function stableNames(dev: string): Map<string, string> {
  const folder = join(dev, 'serial/by-id')
  const links = new Map<string, string>()
  for (const name of namesIn(folder).sort()) {
    const target = targetOf(join(folder, name))
    const path = target === null ? null : join(dev, basename(target))
    if (path !== null && !links.has(path)) links.set(path, join(folder, name))
  }
  return links
}
