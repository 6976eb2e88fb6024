/** USB sharing in a fake world that a test controls: devices, a kernel that obeys the helper, hosts, time. */
import type { Test } from 'tap'
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { parseAllowList } from '#kit/net/address.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { HostDesk, HostLink, Support, UsbDevice } from '../../core/ports.ts'
import { firstSettings, type UsbipSettings } from '../../core/settings.ts'
import { createUsbipBook, UsbSharing } from '../../core/usb-sharing.ts'

/** A plugged-in device; omitted values are those of a serial adapter. */
export function usbDevice(
  busId: string,
  more: Omit<Partial<UsbDevice>, 'record'> & { record?: Partial<UsbDevice['record']> } = {},
): UsbDevice {
  const [busNumber = 1] = busId.split('-').map(Number)
  const record = {
    ...{ path: `/sys/devices/${busId}`, busId, busNumber, deviceNumber: 2, speed: 2 },
    ...{ vendorId: 0x0403, productId: 0x6001, bcdDevice: 0x0600 },
    ...{
      deviceClass: 0,
      deviceSubClass: 0,
      deviceProtocol: 0,
      configurationValue: 1,
      configurations: 1,
      interfaces: 1,
    },
    ...more.record,
  }
  return {
    interfaces: [{ interfaceClass: 255, interfaceSubClass: 255, interfaceProtocol: 255 }],
    ...{ maker: 'FTDI', product: 'FT232R', serial: null, speedMbit: 12, driver: 'usb', usage: null, carries: null },
    ...more,
    record,
  }
}

/** A host's connection, ended by the test. */
export interface FakeLink extends HostLink {
  /** The host hangs up. */
  end(): void
  readonly wasCut: boolean
}

let nextFd = 100

export function fakeLink(address = '10.0.0.5', counts = { receivedBytes: 0, ackedBytes: 0 }): FakeLink {
  let onEnded: (() => void) | undefined
  let wasCut = false
  let fd = nextFd++
  return {
    address,
    port: 50_000,
    get fd() {
      return fd
    },
    get wasCut() {
      return wasCut
    },
    counts: () => counts,
    onceEnded(handler) {
      onEnded = handler
    },
    end: () => onEnded?.(),
    cut() {
      wasCut = true
    },
    close() {
      fd = -1
    },
  }
}

/** The world, and the requests it received. */
export interface Rig {
  clock: FakeClock
  sharing: UsbSharing
  book: ReturnType<typeof createUsbipBook>
  /** By place. The fake kernel changes driver and usage. */
  devices: Map<string, UsbDevice>
  support: { is: Support }
  /** Each request to the helper, as words. */
  asked: string[]
  /** Verbs that are refused, with the helper's reason; `hang` for one that never answers. */
  refuse: Map<string, string>
  remembered: { busIds: readonly string[] }
  saved: UsbipSettings[]
  port: { isTaken: boolean; isOpen: boolean; desk?: HostDesk }
  /** A kernel event that something was plugged in or pulled. */
  uevent(): void
  /** Changes a device from now on. */
  change(busId: string, more: Partial<UsbDevice>): void
  /** Runs everything that is due. */
  settle(ms?: number): Promise<void>
  stateOf(busId: string): string | undefined
  owned: Promise<unknown>[]
  /** How often pages were notified of a change. */
  told(): number
}

/** USB sharing, not started. */
export function createRig(settings: Partial<UsbipSettings> = {}, remembered: readonly string[] = []): Rig {
  const clock = fakeClock()
  const rig = { clock, support: { is: 'ready' as Support }, asked: [] as string[], saved: [] as UsbipSettings[] }
  const devices = new Map<string, UsbDevice>()
  const refuse = new Map<string, string>()
  const owned: Promise<unknown>[] = []
  const memory = { busIds: remembered }
  const port: Rig['port'] = { isTaken: false, isOpen: false }
  let onChange = () => {}
  let told = 0
  const change = (busId: string, more: Partial<UsbDevice>) => {
    const device = devices.get(busId)
    if (device) devices.set(busId, { ...device, ...more })
  }
  const obey: Record<string, Partial<UsbDevice>> = {
    'usbip-bind': { driver: 'usbip-host', usage: 'free' },
    'usbip-unbind': { driver: 'usb', usage: null },
    'usbip-attach': { usage: 'used' },
    'usbip-detach': { usage: 'free' },
  }
  const parseAllow = (text: string) => parseAllowList(text, 64)
  const sharing = new UsbSharing(
    {
      ...{ clock, log: silentLog, parseAllow, onChange: () => void told++ },
      bus: {
        look: async () => ({ support: rig.support.is, devices: [...devices.values()] }),
        watch(handler) {
          onChange = handler
          return () => {
            onChange = () => {}
          }
        },
      },
      helper: {
        async ask(verb, args = []) {
          const [busId = ''] = args
          rig.asked.push([verb, ...args].join(' '))
          await Promise.resolve()
          const reason = refuse.get(verb)
          if (reason === 'hang') return await new Promise(() => {})
          if (reason) throw new Fault('helper_refused', `refused: ${reason}`, { details: { reason } })
          change(busId, obey[verb] ?? {})
          return ''
        },
      },
      memory: {
        load: async () => memory.busIds,
        async save(busIds) {
          memory.busIds = busIds
        },
      },
      openServer(desk) {
        if (port.isTaken) throw new Fault('usbip_port_taken', 'TCP port 3240 cannot be opened for USB/IP hosts.')
        Object.assign(port, { isOpen: true, desk })
        return { port: 3240, close: () => Object.assign(port, { isOpen: false }) }
      },
      times: { lookMs: 3000, retryMs: 5000, holdMs: 60_000 },
      own: (promise) => void owned.push(promise),
    },
    { ...firstSettings, ...settings },
  )
  const book = createUsbipBook({ sharing, parseAllow, save: async (one) => void rig.saved.push(one) })
  return {
    ...rig,
    ...{ sharing, book, devices, refuse, remembered: memory, port, change, owned },
    uevent: () => onChange(),
    told: () => told,
    settle: (ms = 0) => clock.run(ms),
    stateOf: (busId) => sharing.shares.find(({ device }) => device.record.busId === busId)?.state,
  }
}

/** One device, plugged in and shared. A failure in the background fails the test. */
export async function startShared(t: Test, settings: Partial<UsbipSettings> = {}): Promise<Rig> {
  const rig = createRig({ enabled: true, ...settings })
  rig.devices.set('1-1', usbDevice('1-1'))
  await rig.sharing.start()
  await rig.settle(300)
  t.teardown(async () => void (await Promise.all(rig.owned)))
  return rig
}
