/** Routes of USB sharing: its state and settings, scripts for hosts; and its Prometheus metrics. */
import { Type } from 'typebox'
import type { Metrics } from '#kit/http/metrics.ts'
import { Reply, type Route, route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import { usbipAnswer } from '../../../api/answers.ts'
import { linuxHostScript } from '../core/linux-host.ts'
import { LONGEST_ALLOW, LONGEST_DEVICE } from '../core/settings.ts'
import type { UsbipBook, UsbSharing } from '../core/usb-sharing.ts'
import { usbipView } from '../core/usbip-view.ts'
import { windowsHostScript } from '../core/windows-host.ts'
import { type HostScriptOptions, hostOfHeader } from '../wire/host-script.ts'

const form = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean({ description: 'the device is shared' })),
    allow: Type.Optional(
      Type.String({
        maxLength: LONGEST_ALLOW,
        description: 'addresses and networks that may have it, by commas or spaces; empty: every address',
      }),
    ),
    device: Type.Optional(
      Type.String({
        maxLength: LONGEST_DEVICE,
        description: 'which: 0403:6001, 0403:6001:SERIAL, a place such as 1-1.4, a hub for all on it; empty: the first',
      }),
    ),
    detach: Type.Optional(Type.Boolean({ description: 'takes it from its host, and holds that host off for a while' })),
  },
  { additionalProperties: false },
)

/** @source Interface 2, B, endpoints */
export function usbipRoutes({
  sharing,
  book,
  recorder,
}: {
  sharing: UsbSharing
  book: UsbipBook
  recorder: Recorder
}): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/usbip',
      who: 'admin',
      reply: usbipAnswer,
      summary: 'The USB device that is shared, and the host that has it',
      handle: () => usbipView(sharing),
    }),
    route({
      method: 'POST',
      path: '/api/usbip',
      who: 'admin',
      reply: usbipAnswer,
      summary: 'What is shared and with whom; applied at once and saved. `detach=1` takes it from its host',
      body: form,
      async handle({ body: { detach, ...change }, ...asker }) {
        const changed = await book.change(change)
        if (Object.keys(changed).length > 0) await recorder.changed(asker, 'changed usb sharing', undefined, changed)
        const addresses = detach === true ? await sharing.detach() : []
        for (const address of addresses) await recorder.changed(asker, 'took the usb device from its host', address)
        return usbipView(sharing)
      },
    }),
  ]
}

// Scripts that hosts run, made for the very name by which this board was addressed.

/** Values for the scripts. */
interface ScriptParts {
  /** TCP port that hosts connect to. */
  port(): number
  /** The setting `device`. */
  device(): string
}

/** @source Interface 2, B, endpoints and authentication 1: no password */
export function scriptRoutes({ port, device }: ScriptParts): Route[] {
  const optionsFor = (header: string | undefined): HostScriptOptions => {
    const host = hostOfHeader(header)
    if (host === undefined)
      throw new Fault('bad_http', 'the header Host names neither a host nor an address, which the script is made for')
    return { host, port: port(), key: device() || null }
  }
  const scripts = [
    ['/usbip.sh', 'Linux', 'text/x-shellscript; charset=utf-8', linuxHostScript],
    ['/usbip.ps1', 'Windows', 'text/plain; charset=utf-8', windowsHostScript],
  ] as const
  return scripts.map(([path, system, type, scriptOf]) =>
    route({
      method: 'GET',
      path,
      who: 'anyone',
      summary: `Script for ${system} hosts: attaches the device, and keeps it attached`,
      replyType: type,
      handle({ headers }) {
        const text = scriptOf(optionsFor(headers.host))
        const name = path.slice(1)
        return new Reply(200, Buffer.from(text), {
          'content-type': type,
          'content-disposition': `inline; filename="${name}"`,
          // It contains the name by which this one request came.
          'cache-control': 'no-store',
        })
      },
    }),
  )
}

// Metrics.

/** @param metrics gains the numbers shared and attached now, connections by outcome, and bytes */
export function measureUsbip(metrics: Metrics, sharing: UsbSharing): void {
  const now = (value: number) => [{ labels: {}, value }]
  metrics.gauge({ name: 'usbip_shared', help: 'devices that are shared or have a host' }, () =>
    now(sharing.shares.filter(({ state }) => state === 'exported' || state === 'attached').length),
  )
  metrics.gauge({ name: 'usbip_attached', help: 'devices that a host has' }, () =>
    now(sharing.shares.filter(({ guest }) => guest).length),
  )
  metrics.counts(
    { name: 'usbip_connections_total', help: 'connections by how their first phase ended', labels: ['outcome'] },
    () => Object.entries(sharing.counts.outcomes).map(([outcome, value]) => ({ labels: { outcome }, value })),
  )
  metrics.counts({ name: 'usbip_bytes_total', help: 'bytes from and to hosts', labels: ['direction'] }, () => {
    const { inBytes, outBytes } = bytesOf(sharing)
    return [
      { labels: { direction: 'in' }, value: inBytes },
      { labels: { direction: 'out' }, value: outBytes },
    ]
  })
}

/** Bytes of hosts that have left, and of present ones. */
function bytesOf({ counts, shares }: UsbSharing): { inBytes: number; outBytes: number } {
  let { inBytes, outBytes } = counts
  for (const { link } of shares) {
    if (!link) continue
    const { receivedBytes, ackedBytes } = link.counts()
    inBytes += receivedBytes
    outBytes += ackedBytes
  }
  return { inBytes, outBytes }
}
