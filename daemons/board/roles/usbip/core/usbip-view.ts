/** The state of USB sharing: the answer of `GET /api/usbip`, and one sentence for the top of the page. */
import type { Verdict } from '../../../core/role.ts'
import { hex4 } from '../wire/op.ts'
import { className } from '../wire/usb.ts'
import type { UsbDevice } from './ports.ts'
import { deviceKey, shareableDevices } from './settings.ts'
import type { Guest, Share, ShareState } from './share.ts'
import type { LastError, UsbSharing } from './usb-sharing.ts'

/** A host that has a device. */
interface AttachedHost {
  address: string
  /** Epoch ms. */
  since_at: number
}

/** Bytes over the network since the host attached: `in` from the host, `out` to it. */
interface Traffic {
  in_bytes: number
  out_bytes: number
}

/** A device that is plugged in. */
export interface DeviceView {
  busid: string
  /** Four hex digits each. */
  vendor_id: string
  product_id: string
  vendor: string | null
  product: string | null
  serial: string | null
  class: string | null
  speed: string | null
  /** Value of the setting `device` that names this one. */
  key: string
  /** State as in docs/LIFECYCLES.md; `local` if it is not shared. */
  state: ShareState
  /** What the board itself would lose with it. */
  carries: 'network' | 'disk' | null
  attached: AttachedHost | null
  traffic: Traffic | null
}

/** Answer of `GET /api/usbip`, and `usbip` of `GET /api/status`. */
export interface UsbipView {
  enabled: boolean
  allow: string
  /** The setting: a key of `devices`, or empty. */
  choice: string
  /** Whether this kernel can share. */
  supported: boolean
  text: string
  /** The shared device; of several, preferably one that a host has. */
  device: DeviceView | null
  /** All that could be shared. */
  devices: DeviceView[]
  attached: AttachedHost | null
  traffic: Traffic | null
  /** Epoch ms. */
  hold_until: number | null
  last_error: LastError | null
}

/** The current state. */
export function usbipView(sharing: UsbSharing): UsbipView {
  const { settings, seen, shares } = sharing
  const devices = shareableDevices(seen.devices).map((device) => deviceView(device, seen.devices, shares))
  const shared = devices.filter(({ busid }) => shares.some(({ device }) => device.record.busId === busid))
  const device = shared.find(({ attached }) => attached) ?? shared[0] ?? null
  return {
    ...{ enabled: settings.enabled, allow: settings.allow, choice: settings.device },
    supported: seen.support === 'ready',
    text: usbipVerdict(sharing).text,
    device,
    devices,
    attached: device?.attached ?? null,
    traffic: device?.traffic ?? null,
    hold_until: sharing.holdUntilAt,
    last_error: sharing.lastError ?? null,
  }
}

/** The state in one sentence. */
export function usbipVerdict(sharing: UsbSharing): Verdict {
  const { settings, seen, shares, portFault, lastError } = sharing
  const unsupported = UNSUPPORTED[seen.support]
  if (!settings.enabled) return { state: 'off', text: `Sharing is off.${unsupported ? ` ${unsupported}` : ''}` }
  if (unsupported) return { state: 'fault', text: unsupported }
  if (portFault) return { state: 'fault', text: portFault.message }
  if (shares.length === 0) return { state: 'warn', text: nothingText(sharing) }
  const failed = shares.find(({ state }) => state === 'failed')
  if (failed) return { state: 'fault', text: `${nameOf(failed.device)} cannot be shared: ${lastError?.message ?? ''}` }
  const attached = shares.find(({ guest }) => guest)
  const others = shares.length > 1 ? ` ${shares.length} devices are shared.` : ''
  if (attached) return { state: 'ok', text: `${attached.guest?.link.address} has ${nameOf(attached.device)}.${others}` }
  const ready = shares.find(({ state }) => state === 'exported')
  if (ready) return { state: 'ok', text: `${nameOf(ready.device)} waits for a host.${others}` }
  return { state: 'busy', text: `${shares[0] ? nameOf(shares[0].device) : 'A device'} is being prepared.` }
}

const UNSUPPORTED = {
  ready: '',
  no_usb: 'This system has no USB.',
  no_usbip_host: "This system's kernel cannot share USB devices: it has no usbip-host module loaded.",
} as const

function nothingText({ settings, seen }: UsbSharing): string {
  if (settings.device !== '') return `${settings.device} is not plugged in.`
  const kept = shareableDevices(seen.devices).find(({ carries }) => carries !== null)
  if (!kept) return 'No USB device is plugged in.'
  const use = kept.carries === 'network' ? "is this board's network" : 'is a disk that this board uses'
  return `${nameOf(kept)} ${use}, so it is shared only if it is chosen.`
}

/** Name for people. */
function nameOf({ maker, product, record }: UsbDevice): string {
  const numbers = `${hex4(record.vendorId)}:${hex4(record.productId)}`
  return product ?? (maker === null ? `The USB device ${numbers}` : `${maker} ${numbers}`)
}

function deviceView(device: UsbDevice, devices: readonly UsbDevice[], shares: readonly Share[]): DeviceView {
  const { record, interfaces, speedMbit, maker, product, serial, carries } = device
  const share = shares.find((one) => one.device.record.busId === record.busId)
  const guest = share?.guest
  return {
    busid: record.busId,
    vendor_id: hex4(record.vendorId),
    product_id: hex4(record.productId),
    vendor: maker,
    product,
    serial,
    class: className(record.deviceClass, interfaces[0]?.interfaceClass),
    speed: speedMbit === null ? null : `${speedMbit} Mbit/s`,
    key: deviceKey(device, devices),
    state: share?.state ?? 'local',
    carries,
    attached: guest ? { address: guest.link.address, since_at: guest.sinceAt } : null,
    traffic: guest ? trafficOf(guest) : null,
  }
}

function trafficOf({ link }: Guest): Traffic {
  const { receivedBytes, ackedBytes } = link.counts()
  return { in_bytes: receivedBytes, out_bytes: ackedBytes }
}
