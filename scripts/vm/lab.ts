/**
 * Two guests on one cable: the board, with a USB disk and a USB serial adapter, and a host that uses them. The adapter
 * echoes what it is sent.
 */
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkout, type Guest, guestImage, startGuest } from './guest.ts'

/** Addresses of the two. */
export const BOARD_ADDRESS = '192.0.2.1'
export const HOST_ADDRESS = '192.0.2.2'

/** Bytes on the USB disk. */
const DISK_BYTES = 8 * 1024 * 1024

/** The adapter in QEMU: an FTDI chip, vid:pid 0403:6001. */
const ADAPTER = { driver: 'usb-serial', chardev: 'echo', bus: 'usb.0', port: '2', id: 'adapter' }

export interface Lab {
  board: Guest
  host: Guest
  /** SHA-256 in hex of the USB disk (46f4:0001, serial number LAB-DISK). */
  diskSha256: string
  /** Unplugs the board's serial adapter (0403:6001), and plugs it in again. */
  unplugAdapter(): Promise<void>
  plugAdapter(): Promise<void>
  stop(): Promise<void>
}

/** Starts both. `lends` is shown to the board's guest at /host. Rejects if one of them does not start. */
export async function startLab(lends?: string): Promise<Lab> {
  const image = guestImage(checkout)
  const bed = mkdtempSync(join(tmpdir(), 'plantroom-lab-'))
  const content = randomBytes(DISK_BYTES)
  writeFileSync(join(bed, 'usb-disk'), content)
  const echo = createServer((line) => line.on('error', () => line.destroy()).pipe(line))
  await new Promise<void>((resolve) => echo.listen(join(bed, 'echo'), resolve))

  const cable = (listens: boolean) => ({
    path: join(bed, 'cable'),
    listens,
    address: `${listens ? BOARD_ADDRESS : HOST_ADDRESS}/24`,
  })
  const guests: Guest[] = []
  async function stop(): Promise<void> {
    await Promise.all(guests.map((guest) => guest.stop()))
    echo.close()
    rmSync(bed, { recursive: true, force: true })
  }
  try {
    // The listening end starts first: the other does not wait for it.
    const board = startGuest(image, {
      name: 'board',
      cable: cable(true),
      devices: usbDevices(bed),
      lends,
      memoryMb: 640,
    })
    const host = startGuest(image, { name: 'host', cable: cable(false) })
    const started = await Promise.allSettled([board, host])
    for (const one of started) if (one.status === 'fulfilled') guests.push(one.value)
    for (const one of started) if (one.status === 'rejected') throw one.reason
  } catch (error) {
    await stop()
    throw error
  }
  const [board, host] = guests as [Guest, Guest]
  return {
    board,
    host,
    diskSha256: createHash('sha256').update(content).digest('hex'),
    unplugAdapter: async () => {
      await board.machine('device_del', { id: ADAPTER.id })
    },
    plugAdapter: async () => {
      await board.machine('device_add', ADAPTER)
    },
    stop,
  }
}

function usbDevices(bed: string): string[] {
  const args = [
    '-device',
    'qemu-xhci,id=usb',
    '-drive',
    `file=${join(bed, 'usb-disk')},if=none,id=stick,format=raw,readonly=on`,
  ]
  args.push('-device', 'usb-storage,bus=usb.0,port=1,drive=stick,id=disk,serial=LAB-DISK')
  args.push('-chardev', `socket,id=echo,path=${join(bed, 'echo')}`)
  const { driver, ...rest } = ADAPTER
  args.push('-device', [driver, ...Object.entries(rest).map(([key, value]) => `${key}=${value}`)].join(','))
  return args
}
