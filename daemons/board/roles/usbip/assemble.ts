/** Assembles USB sharing: the only file of the role that imports both io/ and api/. */
import { parseAllowList, type ShareOf } from '#kit/net/address.ts'
import type { BoardConfig } from '../../config.ts'
import type { RootHelper } from '../../core/machine/ports.ts'
import type { RoleHouse, RoleWorld } from '../../core/role.ts'
import { measureUsbip, scriptRoutes, usbipRoutes } from './api/usbip-routes.ts'
import { createUsbipBook, UsbSharing } from './core/usb-sharing.ts'
import { usbipVerdict, usbipView } from './core/usbip-view.ts'
import { createOpServerOpener } from './io/op-server.ts'
import { createUsbSysfs } from './io/usb-sysfs.ts'
import { createUsbipFiles } from './io/usbip-files.ts'

/** Dependencies of the role besides the board. */
interface UsbipNeeds {
  config: BoardConfig['usbip']
  helper: RootHelper
  shareOf: ShareOf
}

/** Limit for releasing devices to their own drivers when the board stops. */
const STOP_MS = 15_000

/** Loads the settings; sharing starts and stops with the parts of the board. */
export async function assembleUsbip(world: RoleWorld, { config, helper, shareOf }: UsbipNeeds): Promise<RoleHouse> {
  const { clock, log, parts, recorder, stateFolder } = world
  const own = (promise: Promise<unknown>) => parts.own(promise, 'usb sharing')
  const parseAllow = (text: string) => parseAllowList(text, config.allow_entries)
  const files = createUsbipFiles(stateFolder, log, parseAllow)
  const sharing = new UsbSharing(
    {
      ...{ clock, log, helper, parseAllow, own },
      bus: createUsbSysfs({ sysfs: config.sysfs, mountsFile: '/proc/self/mountinfo', log }),
      memory: files.bound,
      openServer: createOpServerOpener({ clock, log, own, shareOf, limits: limitsOf(config) }),
      times: { lookMs: config.look_ms, retryMs: config.retry_ms, holdMs: config.hold_ms },
      onChange: () => world.onChange(),
    },
    await files.settings.load(),
  )
  const book = createUsbipBook({ sharing, parseAllow, save: (settings) => files.settings.save(settings) })
  parts.add({
    name: 'usb sharing',
    start: () => sharing.start(),
    stop: () => sharing.stop(),
    stopDeadlineMs: STOP_MS,
  })
  return {
    verdict: () => usbipVerdict(sharing),
    state: () => usbipView(sharing),
    routes: [
      ...usbipRoutes({ sharing, book, recorder }),
      ...scriptRoutes({ port: () => sharing.openPort ?? config.port, device: () => sharing.settings.device }),
    ],
    measure: (metrics) => measureUsbip(metrics, sharing),
  }
}

function limitsOf(config: BoardConfig['usbip']) {
  return {
    host: config.host,
    port: config.port,
    connections: config.connections,
    connectionsPerHost: config.connections_per_host,
    timeoutMs: config.op_timeout_ms,
    keepAlive: {
      idleS: config.keepalive_idle_s,
      intervalS: config.keepalive_interval_s,
      count: config.keepalive_count,
      userTimeoutMs: config.user_timeout_ms,
    },
  }
}
